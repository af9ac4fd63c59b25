/* SPDX-License-Identifier: Apache-2.0 */
/* Exceptions, one for each result code of the C interface. */
#ifndef PEERLANE_OPAE_CXX_EXCEPT_H
#define PEERLANE_OPAE_CXX_EXCEPT_H

#include <opae/types_enum.h>
#include <opae/utils.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

#define OPAECXX_HERE ::opae::fpga::types::src_location(__FILE__, __func__, __LINE__)
/* The name of earlier versions. */
#define OPAE_HERE OPAECXX_HERE

/* Throws the exception of a result code; does not throw for FPGA_OK and for codes without an exception. The published macro has the
 * semicolon, too. */
#define ASSERT_FPGA_OK(result) ::opae::fpga::types::detail::assert_fpga_ok((result), OPAE_HERE);

namespace opae {
namespace fpga {
namespace types {

/* A place in the source of a program. */
class src_location {
	const char *file_, *fn_;
	int line_;

public:
	src_location(const char *file, const char *fn, int line) noexcept
		: file_(file), fn_(fn), line_(line)
	{
	}
	const char *file() const noexcept { return file_; }
	const char *fn() const noexcept { return fn_; }
	int line() const noexcept { return line_; }
};

/* The base class of all exceptions. */
class except : public std::exception {
	fpga_result result_;
	src_location place_;
	std::string text_;

public:
	static const std::size_t MAX_EXCEPT = 256;

	except(fpga_result result, const char *message, src_location place)
		: result_(result), place_(place), text_(message)
	{
		text_ += std::string(" at ") + place.file() + ":" + place.fn() +
			 "():" + std::to_string(place.line());
	}
	except(fpga_result result, src_location place) : except(result, fpgaErrStr(result), place) {}
	explicit except(src_location place) : except(FPGA_EXCEPTION, place) {}
	const char *what() const noexcept override { return text_.c_str(); }
	operator fpga_result() const noexcept { return result_; }
};

/* The exception of one result code. */
#define PEERLANE_OPAE_EXCEPTION(name, result)                                                      \
	class name : public except {                                                               \
	public:                                                                                    \
		explicit name(src_location place) : except(result, place) {}                       \
	}

PEERLANE_OPAE_EXCEPTION(invalid_param, FPGA_INVALID_PARAM);
PEERLANE_OPAE_EXCEPTION(busy, FPGA_BUSY);
PEERLANE_OPAE_EXCEPTION(exception, FPGA_EXCEPTION);
PEERLANE_OPAE_EXCEPTION(not_found, FPGA_NOT_FOUND);
PEERLANE_OPAE_EXCEPTION(no_memory, FPGA_NO_MEMORY);
PEERLANE_OPAE_EXCEPTION(not_supported, FPGA_NOT_SUPPORTED);
PEERLANE_OPAE_EXCEPTION(no_driver, FPGA_NO_DRIVER);
PEERLANE_OPAE_EXCEPTION(no_daemon, FPGA_NO_DAEMON);
PEERLANE_OPAE_EXCEPTION(no_access, FPGA_NO_ACCESS);
PEERLANE_OPAE_EXCEPTION(reconf_error, FPGA_RECONF_ERROR);

#undef PEERLANE_OPAE_EXCEPTION

namespace detail {

inline void assert_fpga_ok(fpga_result result, src_location place)
{
	switch (result) {
	case FPGA_OK: return;
	case FPGA_INVALID_PARAM: throw invalid_param(place);
	case FPGA_BUSY: throw busy(place);
	case FPGA_EXCEPTION: throw exception(place);
	case FPGA_NOT_FOUND: throw not_found(place);
	case FPGA_NO_MEMORY: throw no_memory(place);
	case FPGA_NOT_SUPPORTED: throw not_supported(place);
	case FPGA_NO_DRIVER: throw no_driver(place);
	case FPGA_NO_DAEMON: throw no_daemon(place);
	case FPGA_NO_ACCESS: throw no_access(place);
	case FPGA_RECONF_ERROR: throw reconf_error(place);
	}
}

} // namespace detail
} // namespace types
} // namespace fpga
} // namespace opae

#endif
