/* SPDX-License-Identifier: Apache-2.0 */
/* The types that the interface uses. */
#ifndef PEERLANE_OPAE_TYPES_H
#define PEERLANE_OPAE_TYPES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <opae/types_enum.h>

/* Opaque objects. Each is made by one function and destroyed by another. */
typedef void *fpga_properties;
typedef void *fpga_token;
typedef void *fpga_handle;
typedef void *fpga_event_handle;
typedef void *fpga_object;

/* The first byte is the one that is written first, as in uuid_t. */
typedef uint8_t fpga_guid[16];

typedef struct {
	uint8_t major;
	uint8_t minor;
	uint16_t patch;
} fpga_version;

#define FPGA_ERROR_NAME_MAX 64
struct fpga_error_info {
	char name[FPGA_ERROR_NAME_MAX];
	bool can_clear;
};

#define FPGA_METRIC_STR_SIZE 256
typedef union {
	uint64_t ivalue;
	double dvalue;
	float fvalue;
	bool bvalue;
} metric_value;

typedef struct fpga_metric_info {
	uint64_t metric_num;
	fpga_guid metric_guid;
	char qualifier_name[FPGA_METRIC_STR_SIZE];
	char group_name[FPGA_METRIC_STR_SIZE];
	char metric_name[FPGA_METRIC_STR_SIZE];
	char metric_units[FPGA_METRIC_STR_SIZE];
	enum fpga_metric_datatype metric_datatype;
	enum fpga_metric_type metric_type;
} fpga_metric_info;

typedef struct fpga_metric {
	uint64_t metric_num;
	metric_value value;
	bool isvalid;
} fpga_metric;

typedef struct threshold {
	char threshold_name[FPGA_METRIC_STR_SIZE];
	uint32_t is_valid;
	double value;
} threshold;

typedef struct metric_threshold {
	char metric_name[FPGA_METRIC_STR_SIZE];
	threshold upper_nr_threshold;
	threshold upper_c_threshold;
	threshold upper_nc_threshold;
	threshold lower_nr_threshold;
	threshold lower_c_threshold;
	threshold lower_nc_threshold;
	threshold hysteresis;
} metric_threshold;

#endif
