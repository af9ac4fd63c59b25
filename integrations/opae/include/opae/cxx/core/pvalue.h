/* SPDX-License-Identifier: Apache-2.0 */
/* Members of properties: reads and assignments call the getters and setters of the C interface. */
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
	typedef fpga_result (*getter_t)(const fpga_properties, T *);
	typedef fpga_result (*setter_t)(fpga_properties, T);

	pvalue() : pvalue(nullptr, nullptr, nullptr) {}
	pvalue(fpga_properties *props, getter_t get, setter_t set)
		: props_(props), get_(get), set_(set)
	{
	}
	/* A copy belongs to the same properties, and must not outlive them. */
	pvalue(const pvalue &) = default;

	pvalue &operator=(const T &value)
	{
		ASSERT_FPGA_OK(set_(*props_, value));
		return *this;
	}
	/* Takes the value, and not the properties that it belongs to. */
	pvalue &operator=(const pvalue &other) { return *this = static_cast<T>(other); }

	operator T() const
	{
		T value = T();

		ASSERT_FPGA_OK(get_value(value));
		return value;
	}
	fpga_result get_value(T &value) const { return get_(*props_, &value); }
	/* Reads the value, and throws if there is none. No copy is kept that could be invalid. */
	void update() const { static_cast<void>(static_cast<T>(*this)); }
	void invalidate() const {}
	bool operator==(const T &other) const { return is_set() && static_cast<T>(*this) == other; }
	bool is_set() const
	{
		T value = T();

		return get_value(value) == FPGA_OK;
	}

private:
	fpga_properties *props_;
	getter_t get_;
	setter_t set_;
};

/* The model, which is text. */
template <> struct pvalue<char *> {
	typedef fpga_result (*getter_t)(const fpga_properties, char *);
	typedef fpga_result (*setter_t)(fpga_properties, char *);

	pvalue() : pvalue(nullptr, nullptr, nullptr) {}
	pvalue(fpga_properties *props, getter_t get, setter_t set)
		: props_(props), get_(get), set_(set)
	{
	}
	pvalue(const pvalue &) = default;
	pvalue &operator=(const pvalue &) = delete;

	pvalue &operator=(const std::string &value)
	{
		std::string copy(value);

		ASSERT_FPGA_OK(set_(*props_, &copy[0]));
		return *this;
	}
	operator std::string() const
	{
		char text[FPGA_MODEL_LENGTH + 1] = { 0 };

		ASSERT_FPGA_OK(get_(*props_, text));
		return text;
	}
	void update() const { static_cast<void>(static_cast<std::string>(*this)); }
	void invalidate() const {}
	bool operator==(const std::string &other) const
	{
		return is_set() && static_cast<std::string>(*this) == other;
	}
	bool is_set() const
	{
		char text[FPGA_MODEL_LENGTH + 1] = { 0 };

		return get_(*props_, text) == FPGA_OK;
	}

private:
	fpga_properties *props_;
	getter_t get_;
	setter_t set_;
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
	return to << static_cast<std::string>(value);
}

/* The UUID of an object. */
struct guid_t {
	guid_t(fpga_properties *props) : props_(props), bytes_() {}
	guid_t(const guid_t &) = default;
	guid_t &operator=(const guid_t &) = delete;

	guid_t &operator=(const uint8_t *guid)
	{
		std::copy(guid, guid + sizeof(fpga_guid), bytes_);
		ASSERT_FPGA_OK(fpgaPropertiesSetGUID(*props_, bytes_));
		return *this;
	}

	/* Takes a UUID as text, with or without dashes. */
	void parse(const char *text)
	{
		fpga_guid guid = { 0 };

		for (size_t digit = 0; digit < 2 * sizeof(guid); digit++, text++) {
			text += digit > 0 && digit % 4 == 0 && *text == '-';
			guid[digit / 2] = static_cast<uint8_t>(guid[digit / 2] << 4 | hexadecimal(*text));
		}
		if (*text)
			throw invalid_param(OPAE_HERE);
		*this = guid;
	}

	const uint8_t *c_type() const
	{
		ASSERT_FPGA_OK(fpgaPropertiesGetGUID(*props_, &bytes_));
		return bytes_;
	}
	operator uint8_t *() const
	{
		c_type();
		return bytes_;
	}
	void update() const { c_type(); }
	void invalidate() const {}
	bool operator==(const fpga_guid &other) const
	{
		return is_set() && std::memcmp(c_type(), other, sizeof(fpga_guid)) == 0;
	}
	bool is_set() const
	{
		fpga_guid guid;

		return fpgaPropertiesGetGUID(*props_, &guid) == FPGA_OK;
	}

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
			if (i == 4 || i == 6 || i == 8 || i == 10)
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
		throw invalid_param(OPAE_HERE);
	}

	fpga_properties *props_;
	mutable fpga_guid bytes_;
};

} // namespace types
} // namespace fpga
} // namespace opae

#endif
