/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that the interface uses. */
#ifndef PEERLANE_OPAE_TYPES_ENUM_H
#define PEERLANE_OPAE_TYPES_ENUM_H


/* What every function says. */
typedef enum {
	FPGA_OK = 0,
	FPGA_INVALID_PARAM = 1,
	FPGA_BUSY = 2,
	FPGA_EXCEPTION = 3,
	FPGA_NOT_FOUND = 4,
	FPGA_NO_MEMORY = 5,
	FPGA_NOT_SUPPORTED = 6,
	FPGA_NO_DRIVER = 7,
	FPGA_NO_DAEMON = 8,
	FPGA_NO_ACCESS = 9,
	FPGA_RECONF_ERROR = 10
} fpga_result;

/* What an event tells of. */
typedef enum {
	FPGA_EVENT_INTERRUPT = 0,
	FPGA_EVENT_ERROR = 1,
	FPGA_EVENT_POWER_THERMAL = 2
} fpga_event_type;

/* Whether a process has an accelerator for itself alone. */
typedef enum {
	FPGA_ACCELERATOR_ASSIGNED = 0,
	FPGA_ACCELERATOR_UNASSIGNED = 1
} fpga_accelerator_state;

/* What kind of thing an object is. */
typedef enum {
	FPGA_DEVICE = 0,
	FPGA_ACCELERATOR = 1
} fpga_objtype;

/* By which driver a device would be reached. */
typedef enum {
	FPGA_IFC_DFL = 0,
	FPGA_IFC_VFIO = 1,
	FPGA_IFC_SIM_DFL = 2,
	FPGA_IFC_SIM_VFIO = 3,
	FPGA_IFC_UIO = 4
} fpga_interface;

/* For fpgaPrepareBuffer. */
enum fpga_buffer_flags {
	FPGA_BUF_PREALLOCATED = (1u << 0), /* the memory is the program's */
	FPGA_BUF_QUIET = (1u << 1),        /* no messages */
	FPGA_BUF_READ_ONLY = (1u << 2)     /* devices read it only */
};

/* For fpgaOpen. */
enum fpga_open_flags {
	FPGA_OPEN_SHARED = (1u << 0),        /* others may open it, too */
	FPGA_OPEN_HAS_PARENT_AFU = (1u << 1) /* not supported here */
};

/* For fpgaReconfigureSlot. */
enum fpga_reconf_flags {
	FPGA_RECONF_FORCE = (1u << 0),       /* even if the accelerator is open */
	FPGA_RECONF_SKIP_USRCLK = (1u << 1)  /* leave the user clock alone */
};

/* For objects of a device's description. */
enum fpga_sysobject_flags {
	FPGA_OBJECT_SYNC = (1u << 0),
	FPGA_OBJECT_GLOB = (1u << 1),
	FPGA_OBJECT_RAW = (1u << 2),
	FPGA_OBJECT_RECURSE_ONE = (1u << 3),
	FPGA_OBJECT_RECURSE_ALL = (1u << 4)
};

enum fpga_sysobject_type {
	FPGA_OBJECT_CONTAINER = (1u << 0),
	FPGA_OBJECT_ATTRIBUTE = (1u << 1)
};

/* What a metric is about. */
enum fpga_metric_type {
	FPGA_METRIC_TYPE_POWER,
	FPGA_METRIC_TYPE_THERMAL,
	FPGA_METRIC_TYPE_PERFORMANCE_CTR,
	FPGA_METRIC_TYPE_AFU,
	FPGA_METRIC_TYPE_UNKNOWN
};

enum fpga_metric_datatype {
	FPGA_METRIC_DATATYPE_INT,
	FPGA_METRIC_DATATYPE_FLOAT,
	FPGA_METRIC_DATATYPE_DOUBLE,
	FPGA_METRIC_DATATYPE_BOOL,
	FPGA_METRIC_DATATYPE_UNKNOWN
};

#endif
