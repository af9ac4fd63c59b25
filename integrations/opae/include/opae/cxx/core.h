/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ interface: classes over the C interface, in headers alone. */
#ifndef PEERLANE_OPAE_CXX_CORE_H
#define PEERLANE_OPAE_CXX_CORE_H

#include <opae/cxx/core/errors.h>
#include <opae/cxx/core/events.h>
#include <opae/cxx/core/except.h>
#include <opae/cxx/core/handle.h>
#include <opae/cxx/core/properties.h>
#include <opae/cxx/core/pvalue.h>
#include <opae/cxx/core/shared_buffer.h>
#include <opae/cxx/core/sysobject.h>
#include <opae/cxx/core/token.h>
#include <opae/cxx/core/version.h>

#endif
