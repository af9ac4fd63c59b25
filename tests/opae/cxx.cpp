/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ interface: the native loopback copies a buffer; exceptions, attributes, errors and versions are as in C. */
#include <opae/cxx/core.h>

#include <algorithm>
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

/* The value of a property now. */
template <typename T> static T read(pvalue<T> value)
{
	return value;
}

/* As in the published header, a property has no value before it is read or assigned, and comparisons are of this value. */
static void cached(properties::ptr_t found)
{
	fpga_guid guid;

	CHECK(!found->type.is_set() && !(found->type == FPGA_ACCELERATOR));
	found->type.update();
	CHECK(found->type.is_set() && found->type == FPGA_ACCELERATOR);
	found->type.invalidate();
	CHECK(!(found->type == FPGA_ACCELERATOR));
	CHECK(!found->guid.is_set() && !found->guid.c_type()[0]);
	std::copy_n(static_cast<uint8_t *>(found->guid), sizeof(guid), guid);
	CHECK(found->guid == guid && found->guid.c_type()[0] == 0xd8);
	properties::ptr_t filter = properties::get(FPGA_DEVICE);
	CHECK(filter->type.is_set() && filter->type == FPGA_DEVICE);
	auto bus = found->bus;
	CHECK(!bus.is_set() && read(bus) == read(found->bus));
}

static void objects(token::ptr_t token)
{
	properties::ptr_t found = properties::get(token);
	std::ostringstream text;

	CHECK(token::enumerate(properties::none).size() >= 2);
	cached(found);
	CHECK(read(found->accelerator_state) == FPGA_ACCELERATOR_UNASSIGNED);
	text << found->guid << " " << found->vendor_id;
	CHECK(text.str() == "d8424dc4-a4a3-c413-f89e-433683f9040b 32902");
	CHECK(read(properties::get(token->get_parent())->type) == FPGA_DEVICE);
	CHECK(!token->get_parent()->get_parent());
	throws<except>(FPGA_NOT_FOUND, [] { properties::get()->bus.update(); });
	/* A property that is absent prints nothing. */
	text.str("");
	text << properties::get()->bus << properties::get()->guid;
	CHECK(text.str().empty());
	const char *wrong[] = { "none", "D84244C4A4A3C413F89E433683F9040B", "D84244C4-A4A3-C413-F89E-433683F9040B0" };
	for (const char *guid : wrong)
		throws<except>(FPGA_EXCEPTION, [guid] { properties::get()->guid.parse(guid); });
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
	source->write<uint8_t>(1, 0);
	CHECK(source->compare(target, SIZE) == 1 && target->compare(source, SIZE) == 1);
	/* A value that begins in a buffer may end behind it. */
	status->write<uint64_t>(7, 4092);
	throws<except>(FPGA_EXCEPTION, [target] { target->read<uint64_t>(SIZE); });
	throws<except>(FPGA_EXCEPTION, [target] { target->write<uint64_t>(0, SIZE); });
	target->release();
	CHECK(!target->size() && !target->c_type() && !target->io_address());
	target->fill(0);
	throws<except>(FPGA_EXCEPTION, [target] { target->read<uint64_t>(0); });
	throws<except>(FPGA_EXCEPTION, [nlb] { shared_buffer::allocate(nlb, 0); });
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

/* Runs an act that must throw `std::invalid_argument`. */
template <typename Act> static void refuses(Act act)
{
	try {
		act();
	} catch (const std::invalid_argument &) {
		return;
	}
	CHECK(!"an exception");
}

/* What is null instead of an object is refused before the library is called. */
static void missing(handle::ptr_t nlb)
{
	refuses([] { handle::open(token::ptr_t(), 0); });
	refuses([] { token::enumerate({ properties::ptr_t() }); });
	refuses([] { shared_buffer::allocate(nullptr, 4096); });
	refuses([] { event::register_event(nullptr, event::type_t::interrupt); });
	/* A result without an exception of its own throws nothing. */
	ASSERT_FPGA_OK(static_cast<fpga_result>(1000))
	CHECK(nlb->c_type());
}

int main()
{
	token::ptr_t token = accelerator();

	objects(token);
	handle::ptr_t nlb = handle::open(token, 0);
	throws<busy>(FPGA_BUSY, [token] { handle::open(token, 0); });
	CHECK(read(properties::get(nlb)->accelerator_state) == FPGA_ACCELERATOR_ASSIGNED);
	missing(nlb);
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
	CHECK(nlb->close() == FPGA_EXCEPTION);
	std::cout << "copied\n";
	return 0;
}
