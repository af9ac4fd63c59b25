/* SPDX-License-Identifier: Apache-2.0 */
/* Members of properties: reads and assignments call the getters and setters of the C interface. As in the published header, each keeps a
 * copy of the value that was read or assigned last; comparisons and `is_set` use this copy, and read nothing. */
#ifndef PEERLANE_OPAE_CXX_PVALUE_H
#define PEERLANE_OPAE_CXX_PVALUE_H

#include <opae/cxx/core/except.h>
#include <opae/properties.h>
#include <opae/utils.h>
#ifdef __has_include
#if __has_include(<uuid/uuid.h>)
#include <uuid/uuid.h> /* Programs rely on it; nothing here does. */
#endif
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>
#include <string>
#include <type_traits>

namespace opae {
namespace fpga {
namespace types {

/* A value of an object, or one that a filter looks for. */
template <typename T> struct pvalue {
	typedef fpga_result (*getter_t)(fpga_properties, T *);
	typedef fpga_result (*setter_t)(fpga_properties, T);
	typedef T copy_t;

	pvalue() : pvalue(nullptr, nullptr, nullptr) {}
	pvalue(fpga_properties *props, getter_t get, setter_t set)
		: props_(props), get_(get), set_(set), copy_(), is_set_(false)
	{
	}

	pvalue &operator=(const T &value)
	{
		is_set_ = false;
		ASSERT_FPGA_OK(set_(*props_, value));
		copy_ = value;
		is_set_ = true;
		return *this;
	}

	/* Reads the value. */
	operator copy_t()
	{
		update();
		return copy_;
	}
	fpga_result get_value(T &value) const { return get_(*props_, &value); }
	void update()
	{
		ASSERT_FPGA_OK(get_(*props_, &copy_));
		is_set_ = true;
	}
	void invalidate() { is_set_ = false; }
	bool operator==(const T &other) const { return is_set_ && copy_ == other; }
	bool is_set() const { return is_set_; }

private:
	fpga_properties *props_;
	getter_t get_;
	setter_t set_;
	copy_t copy_;
	bool is_set_;
};

/* The model, which is text. */
template <> struct pvalue<char *> {
	typedef fpga_result (*getter_t)(fpga_properties, char *);
	typedef fpga_result (*setter_t)(fpga_properties, char *);
	typedef std::string copy_t;

	pvalue() : pvalue(nullptr, nullptr, nullptr) {}
	pvalue(fpga_properties *props, getter_t get, setter_t set)
		: props_(props), get_(get), set_(set), copy_(), is_set_(false)
	{
	}

	pvalue &operator=(const std::string &value)
	{
		std::string text(value);

		is_set_ = false;
		ASSERT_FPGA_OK(set_(*props_, &text[0]));
		copy_ = value;
		is_set_ = true;
		return *this;
	}

	operator copy_t()
	{
		update();
		return copy_;
	}
	fpga_result get_value(std::string &value) const
	{
		char text[FPGA_MODEL_LENGTH + 1] = { 0 };
		fpga_result result = get_(*props_, text);

		if (result == FPGA_OK)
			value = text;
		return result;
	}
	void update()
	{
		ASSERT_FPGA_OK(get_value(copy_));
		is_set_ = true;
	}
	void invalidate() { is_set_ = false; }
	bool operator==(const std::string &other) const { return is_set_ && copy_ == other; }
	bool is_set() const { return is_set_; }

private:
	fpga_properties *props_;
	getter_t get_;
	setter_t set_;
	copy_t copy_;
	bool is_set_;
};

/* Says on standard error that an object does not have a property: printing it is no failure. */
inline void complain_not_set(const char *property)
{
	std::cerr << "the object does not have this " << property << "\n";
}

template <typename T> std::ostream &operator<<(std::ostream &to, const pvalue<T> &value)
{
	T found = T();
	fpga_result result = value.get_value(found);

	if (result == FPGA_NOT_FOUND) {
		complain_not_set("property");
		return to;
	}
	ASSERT_FPGA_OK(result);
	return to << +found;
}

inline std::ostream &operator<<(std::ostream &to, const pvalue<char *> &value)
{
	std::string text;

	ASSERT_FPGA_OK(value.get_value(text));
	return to << text;
}

/* The UUID of an object. */
struct guid_t {
	guid_t(fpga_properties *props) : props_(props), bytes_(), is_set_(false) {}

	guid_t &operator=(const uint8_t *guid)
	{
		fpga_guid bytes;

		is_set_ = false;
		std::copy(guid, guid + sizeof(bytes), bytes);
		ASSERT_FPGA_OK(fpgaPropertiesSetGUID(*props_, bytes));
		std::copy(bytes, bytes + sizeof(bytes), bytes_.begin());
		is_set_ = true;
		return *this;
	}

	/* Takes a UUID as text with its four dashes. */
	void parse(const char *text)
	{
		fpga_guid guid = { 0 };

		is_set_ = false;
		for (size_t byte = 0; byte < sizeof(guid); byte++) {
			if (is_after_dash(byte) && *text++ != '-')
				throw except(OPAECXX_HERE);
			for (size_t digit = 0; digit < 2; digit++, text++)
				guid[byte] = static_cast<uint8_t>(guid[byte] << 4 | hexadecimal(*text));
		}
		if (*text)
			throw except(OPAECXX_HERE);
		*this = guid;
	}

	/* The bytes that were read or assigned last. */
	const uint8_t *c_type() const { return bytes_.data(); }
	/* Reads the bytes. */
	operator uint8_t *()
	{
		update();
		return bytes_.data();
	}
	void update()
	{
		fpga_guid bytes;

		ASSERT_FPGA_OK(fpgaPropertiesGetGUID(*props_, &bytes));
		std::copy(bytes, bytes + sizeof(bytes), bytes_.begin());
		is_set_ = true;
	}
	void invalidate() { is_set_ = false; }
	bool operator==(const fpga_guid &other) const
	{
		return is_set_ && std::equal(bytes_.begin(), bytes_.end(), other);
	}
	bool is_set() const { return is_set_; }

	friend std::ostream &operator<<(std::ostream &to, const guid_t &guid)
	{
		const char *digits = "0123456789abcdef";
		fpga_guid bytes;
		fpga_result result = fpgaPropertiesGetGUID(*guid.props_, &bytes);

		if (result == FPGA_NOT_FOUND) {
			complain_not_set("GUID");
			return to;
		}
		ASSERT_FPGA_OK(result);
		for (size_t i = 0; i < sizeof(fpga_guid); i++) {
			if (is_after_dash(i))
				to << '-';
			to << digits[bytes[i] >> 4] << digits[bytes[i] & 15];
		}
		return to;
	}

private:
	static uint8_t hexadecimal(char digit)
	{
		if (digit >= '0' && digit <= '9')
			return static_cast<uint8_t>(digit - '0');
		if (digit >= 'a' && digit <= 'f')
			return static_cast<uint8_t>(digit - 'a' + 10);
		if (digit >= 'A' && digit <= 'F')
			return static_cast<uint8_t>(digit - 'A' + 10);
		throw except(OPAECXX_HERE);
	}
	static bool is_after_dash(size_t byte)
	{
		return byte == 4 || byte == 6 || byte == 8 || byte == 10;
	}

	fpga_properties *props_;
	std::array<uint8_t, sizeof(fpga_guid)> bytes_;
	bool is_set_;
};

} // namespace types
} // namespace fpga
} // namespace opae

#endif
