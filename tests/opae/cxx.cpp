/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ interface: the native loopback copies a buffer; exceptions, attributes, errors and versions are as in C. */
#include <opae/cxx/core.h>

#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <future>
#include <iostream>
#include <sstream>
#include <unistd.h>

using namespace opae::fpga::types;

static const char *NLB = "D8424DC4-A4A3-C413-F89E-433683F9040B";
static const size_t LINE = 64, SIZE = 64 * 1024;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			std::cerr << __FILE__ << ":" << __LINE__ << ": " #condition "\n";          \
			std::exit(1);                                                              \
		}                                                                                  \
	} while (0)

template <typename Exception, typename Act> static void throws(fpga_result result, Act act)
{
	try {
		act();
	} catch (const Exception &error) {
		std::string what = error.what();

		if (error != result)
			std::cerr << what << "\n";
		CHECK(error == result && what.find("cxx") != std::string::npos);
		return;
	}
	CHECK(!"an exception");
}

static token::ptr_t accelerator()
{
	properties::ptr_t filter = properties::get(FPGA_ACCELERATOR);

	filter->guid.parse(NLB);
	std::vector<token::ptr_t> tokens = token::enumerate({ filter });
	CHECK(tokens.size() == 1);
	return tokens[0];
}

static void objects(token::ptr_t token)
{
	properties::ptr_t found = properties::get(token);
	std::ostringstream text;

	CHECK(token::enumerate(properties::none).size() >= 2);
	CHECK(found->type == FPGA_ACCELERATOR && found->bus.is_set());
	CHECK(found->accelerator_state == FPGA_ACCELERATOR_UNASSIGNED);
	text << found->guid << " " << found->vendor_id;
	CHECK(text.str() == "d8424dc4-a4a3-c413-f89e-433683f9040b 32902");
	CHECK(properties::get(token->get_parent())->type == FPGA_DEVICE);
	CHECK(!token->get_parent()->get_parent());
	auto bus = found->bus;
	CHECK(bus.is_set() && bus == found->bus);
	throws<except>(FPGA_NOT_FOUND, [] { properties::get()->bus.update(); });
	/* A property that is absent prints nothing. */
	text.str("");
	text << properties::get()->bus << properties::get()->guid;
	CHECK(text.str().empty());
	throws<invalid_param>(FPGA_INVALID_PARAM, [] { properties::get()->guid.parse("none"); });
	CHECK(!sysobject::get(token, "nothing") && !sysobject::get(token, "errors")->get("nothing"));
	CHECK(!sysobject::get(token, "*none*", FPGA_OBJECT_GLOB));
	throws<invalid_param>(FPGA_INVALID_PARAM, [token] { sysobject::get(token, ""); });
	CHECK(sysobject::get(token, "afu_id")->bytes().size() >= 32);
	CHECK(sysobject::get(token, "afu_id")->bytes(1, 2) == std::vector<uint8_t>({ '8', '4' }));
	CHECK(sysobject::get(token, "errors")->type() == FPGA_OBJECT_CONTAINER);
	CHECK(sysobject::get(token, "errors")->get("errors")->read64() == 0);
	CHECK(!error::get(token, 0)->name().empty() && error::get(token, 0)->read_value() == 0);
	throws<except>(FPGA_NOT_FOUND, [token] { error::get(token, 1000); });
	CHECK(!version::as_string().empty() && version::as_struct().major > 0);
}

/* A part of a buffer, which keeps the whole. */
class part : public shared_buffer {
	shared_buffer::ptr_t whole_;

public:
	part(shared_buffer::ptr_t whole, size_t offset, size_t len)
		: shared_buffer(nullptr, len, const_cast<uint8_t *>(whole->c_type()) + offset,
				whole->wsid(), whole->io_address() + offset),
		  whole_(whole)
	{
	}
};

struct pair {
	uint32_t first, second;
};

static void parts(handle::ptr_t nlb)
{
	shared_buffer::ptr_t whole = shared_buffer::allocate(nlb, 4096);

	whole->write<pair>({ 1, 2 }, 256);
	{
		part second(whole, 256, 256);

		CHECK(second.read<pair>(0).second == 2 && second.io_address() % 4096 == 256);
		CHECK(second.size() == 256 && !second.owner());
	}
	CHECK(whole->read<uint32_t>(256) == 1);
}

static void copy(handle::ptr_t nlb)
{
	shared_buffer::ptr_t status = shared_buffer::allocate(nlb, 4096);
	shared_buffer::ptr_t source = shared_buffer::allocate(nlb, SIZE);
	shared_buffer::ptr_t target = shared_buffer::allocate(nlb, SIZE);

	status->fill(0);
	source->fill(0xaf);
	target->fill(0xbe);
	for (size_t at = 0; at < SIZE; at += LINE)
		source->write<uint64_t>(at, at);
	CHECK(source->compare(target, SIZE) != 0);
	nlb->reset();
	nlb->write_csr64(0x110, status->io_address());
	nlb->write_csr32(0x138, 0);
	nlb->write_csr32(0x138, 1);
	nlb->write_csr64(0x120, source->io_address() / LINE);
	nlb->write_csr64(0x128, target->io_address() / LINE);
	nlb->write_csr32(0x130, SIZE / LINE);
	nlb->write_csr32(0x140, 0x42000);
	nlb->write_csr32(0x138, 3);
	while (!(status->read<uint64_t>(0x40) & 1))
		usleep(100);
	nlb->write_csr32(0x138, 7);
	CHECK(source->compare(target, SIZE) == 0);
	throws<invalid_param>(FPGA_INVALID_PARAM, [target] { target->read<uint64_t>(SIZE - 4); });
	target->release();
	throws<invalid_param>(FPGA_INVALID_PARAM, [target] { target->fill(0); });
}

/* Waits for a thread that continues earlier, and for nobody: an hour of simulated time takes no real time. */
static void futures()
{
	std::promise<int> nobody;
	std::future<int> found = std::async(std::launch::async, [] { return usleep(300000); });
	auto began = std::chrono::steady_clock::now();

	CHECK(found.wait_for(std::chrono::hours(1)) == std::future_status::ready && !found.get());
	CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(1));
	CHECK(nobody.get_future().wait_for(std::chrono::hours(1)) == std::future_status::timeout);
	CHECK(std::chrono::steady_clock::now() - began >= std::chrono::hours(1));
}

/* The library's function of this name, which the program's own takes the place of. */
template <typename Function> static Function next(Function, const char *name)
{
	return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

static bool has_no_address;
static int released;

extern "C" fpga_result fpgaGetIOAddress(fpga_handle handle, uint64_t wsid, uint64_t *address)
{
	if (has_no_address)
		return FPGA_EXCEPTION;
	return next(fpgaGetIOAddress, "fpgaGetIOAddress")(handle, wsid, address);
}

extern "C" fpga_result fpgaReleaseBuffer(fpga_handle handle, uint64_t wsid)
{
	released++;
	return next(fpgaReleaseBuffer, "fpgaReleaseBuffer")(handle, wsid);
}

/* A buffer whose address for devices is not there is released. */
static void leak(handle::ptr_t nlb)
{
	int before = released;

	has_no_address = true;
	throws<exception>(FPGA_EXCEPTION, [nlb] { shared_buffer::allocate(nlb, 4096); });
	has_no_address = false;
	CHECK(released == before + 1);
}

int main()
{
	token::ptr_t token = accelerator();

	objects(token);
	handle::ptr_t nlb = handle::open(token, 0);
	throws<busy>(FPGA_BUSY, [token] { handle::open(token, 0); });
	CHECK(properties::get(nlb)->accelerator_state == FPGA_ACCELERATOR_ASSIGNED);
	CHECK(nlb->read_csr64(8) == *reinterpret_cast<volatile uint64_t *>(nlb->mmio_ptr(8)));
	throws<invalid_param>(FPGA_INVALID_PARAM, [nlb] { nlb->read_csr64(3); });
	parts(nlb);
	copy(nlb);
	leak(nlb);
	event::ptr_t interrupt = event::register_event(nlb, event::type_t::interrupt, 0);
	CHECK(interrupt->os_object() >= 0);
	interrupt.reset();
	futures();
	CHECK(nlb->close() == FPGA_OK && nlb->get_token() == token);
	std::cout << "copied\n";
	return 0;
}
