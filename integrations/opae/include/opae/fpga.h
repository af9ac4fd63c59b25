/* SPDX-License-Identifier: Apache-2.0 */
/* All of it. */
#ifndef PEERLANE_OPAE_FPGA_H
#define PEERLANE_OPAE_FPGA_H

#include <opae/log.h>
#include <opae/init.h>
#include <opae/types.h>
#include <opae/access.h>
#include <opae/buffer.h>
#include <opae/enum.h>
#include <opae/event.h>
#include <opae/manage.h>
#include <opae/mmio.h>
#include <opae/properties.h>
#include <opae/umsg.h>
#include <opae/utils.h>
#include <opae/error.h>
#include <opae/version.h>
#include <opae/sysobject.h>
#include <opae/userclk.h>
#include <opae/metrics.h>



#endif
