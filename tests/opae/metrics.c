/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of a device and its counters, before and after a copy of the native loopback: as tools for metrics and diagnostics ask.
 *
 * metrics [afu NUMBER]: the metrics of a device; or those of an accelerator, of which NUMBER is the expected number.
 */
#include <stdlib.h>

#include "nlb.h"

enum { SIZE = 1 << 16, MOST = 64 };

static fpga_handle open_device(void)
{
	fpga_token token = the_only(FPGA_DEVICE, NULL);
	fpga_handle device = NULL;

	OK(fpgaOpen(token, &device, FPGA_OPEN_SHARED));
	OK(fpgaDestroyToken(&token));
	return device;
}

/* The value of a metric, by its name. */
static uint64_t metric(fpga_handle handle, char *name)
{
	fpga_metric metric = { 0 };

	OK(fpgaGetMetricsByName(handle, &name, 1, &metric));
	CHECK(metric.isvalid);
	return metric.value.ivalue;
}

static uint64_t print_all(fpga_handle handle)
{
	static fpga_metric_info infos[MOST];
	static fpga_metric values[MOST];
	uint64_t count = 0, numbers[MOST], written;

	OK(fpgaGetNumMetrics(handle, &count));
	CHECK(count > 0 && count <= MOST);
	written = MOST;
	OK(fpgaGetMetricsInfo(handle, infos, &written));
	CHECK(written == count);
	for (uint64_t i = 0; i < count; i++) {
		CHECK(infos[i].metric_num == i);
		numbers[i] = i;
	}
	OK(fpgaGetMetricsByIndex(handle, numbers, count, values));
	for (uint64_t i = 0; i < count; i++) {
		CHECK(values[i].isvalid && values[i].metric_num == i);
		printf("%s %s %s %llu %s\n", infos[i].qualifier_name, infos[i].group_name,
		       infos[i].metric_name, (unsigned long long)values[i].value.ivalue,
		       infos[i].metric_units);
	}
	return count;
}

/* A counter, by its name below the folder of all. */
static uint64_t counter(fpga_handle device, const char *name)
{
	fpga_object folder = NULL, object = NULL;
	uint64_t value = 0;

	OK(fpgaHandleGetObject(device, "*perf/fabric", &folder, FPGA_OBJECT_GLOB));
	OK(fpgaObjectGetObject(folder, name, &object, FPGA_OBJECT_GLOB));
	OK(fpgaObjectRead64(object, &value, FPGA_OBJECT_SYNC));
	OK(fpgaDestroyObject(&object));
	OK(fpgaDestroyObject(&folder));
	return value;
}

static void set(fpga_handle device, const char *name, uint64_t value)
{
	fpga_object folder = NULL, object = NULL;

	OK(fpgaHandleGetObject(device, "*perf/fabric", &folder, FPGA_OBJECT_GLOB));
	OK(fpgaObjectGetObject(folder, name, &object, 0));
	OK(fpgaObjectWrite64(object, value, 0));
	OK(fpgaDestroyObject(&object));
	OK(fpgaDestroyObject(&folder));
}

static uint64_t clock_counter(fpga_handle device)
{
	fpga_object object = NULL;
	uint64_t value = 0;

	OK(fpgaHandleGetObject(device, "*perf/clock", &object, FPGA_OBJECT_GLOB));
	OK(fpgaObjectRead64(object, &value, FPGA_OBJECT_SYNC));
	OK(fpgaDestroyObject(&object));
	return value;
}

static void of_device(void)
{
	fpga_handle device = open_device(), accelerator = open_accelerator(NLB_0);
	uint64_t reads, writes, stores, clock, clock_value, number = 1000;
	char unknown[] = "temperature";
	char *names[] = { unknown, (char[]){ "PCIE0_READ" } }, *misplaced = (char[]){ "fabric:pcie0_read" };
	char *qualified = (char[]){ "performance:fabric:pcie0_read" };
	fpga_metric found[2];
	metric_threshold thresholds[4];
	uint32_t threshold_count = 4;

	print_all(device);
	reads = metric(device, "pcie0_read");
	writes = metric(device, "pcie0_write");
	stores = counter(device, "mmio_write");
	clock = clock_counter(device);
	nlb_copy(accelerator, SIZE, sleep_between);
	/* One request for each line, and the status line. */
	CHECK(metric(device, "pcie0_read") == reads + SIZE / LINE);
	CHECK(metric(device, "pcie0_write") == writes + SIZE / LINE + 1);
	CHECK(counter(device, "pcie0_read") == reads + SIZE / LINE);
	/* The counters of one port are zero until they are enabled instead of those of all. */
	CHECK(counter(device, "port0/pcie0_read") == 0);
	set(device, "port0/enable", 1);
	CHECK(counter(device, "port0/pcie0_read") == reads + SIZE / LINE);
	CHECK(counter(device, "pcie0_read") == 0);
	set(device, "enable", 1);
	/* The nine stores of the copy. */
	CHECK(counter(device, "mmio_write") == stores + 9);
	clock_value = clock_counter(device);
	CHECK(clock_value > clock);

	/* Frozen counters do not count. */
	set(device, "freeze", 1);
	reads = counter(device, "pcie0_read");
	nlb_copy(accelerator, SIZE, sleep_between);
	CHECK(counter(device, "pcie0_read") == reads);
	set(device, "freeze", 0);
	nlb_copy(accelerator, SIZE, sleep_between);
	CHECK(counter(device, "pcie0_read") == reads + SIZE / LINE);

	/* Names in capital letters are found, others are not. */
	OK(fpgaGetMetricsByName(device, names, 2, found));
	CHECK(!found[0].isvalid && found[1].isvalid);
	CHECK(found[1].value.ivalue == reads + SIZE / LINE);
	/* A name may have its qualifier. */
	CHECK(metric(device, qualified) == reads + SIZE / LINE);
	SAYS(FPGA_NOT_FOUND, fpgaGetMetricsByName(device, &misplaced, 1, found));
	SAYS(FPGA_NOT_FOUND, fpgaGetMetricsByName(device, names, 1, found));
	SAYS(FPGA_NOT_FOUND, fpgaGetMetricsByIndex(device, &number, 1, found));
	SAYS(FPGA_NOT_FOUND, fpgaGetMetricsThresholdInfo(device, thresholds, &threshold_count));
	SAYS(FPGA_NOT_FOUND, fpgaGetNumMetrics(accelerator, &number));
	OK(fpgaClose(accelerator));
	OK(fpgaClose(device));
}

/* The simulated time of reading the metric with number 0, by its name or by its number. */
static uint64_t time_of_reading(fpga_handle handle, char *name)
{
	uint64_t began = now_ns(), number = 0;
	fpga_metric metric = { 0 };

	if (name)
		OK(fpgaGetMetricsByName(handle, &name, 1, &metric));
	else
		OK(fpgaGetMetricsByIndex(handle, &number, 1, &metric));
	CHECK(metric.isvalid && metric.metric_num == 0);
	return now_ns() - began;
}

int main(int argc, char **argv)
{
	if (argc > 2) {
		fpga_token token = the_only(FPGA_ACCELERATOR, NULL);
		fpga_handle handle = NULL;
		uint64_t by_number, by_name;

		OK(fpgaOpen(token, &handle, 0));
		CHECK(print_all(handle) == strtoull(argv[2], NULL, 0));
		/* Both go through the registers of the list once. */
		by_number = time_of_reading(handle, NULL);
		by_name = time_of_reading(handle, "1");
		CHECK(by_name < by_number * 5 / 4);
		OK(fpgaClose(handle));
		OK(fpgaDestroyToken(&token));
	} else {
		of_device();
	}
	printf("metrics are right\n");
	return 0;
}
