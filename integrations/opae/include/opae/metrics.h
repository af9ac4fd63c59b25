/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: the performance counters of devices, and those of accelerators with a metrics block. Nothing here has thresholds. */
#ifndef PEERLANE_OPAE_METRICS_H
#define PEERLANE_OPAE_METRICS_H

#include <opae/types.h>

#ifdef __cplusplus
extern "C" {
#endif

fpga_result fpgaGetNumMetrics(fpga_handle handle, uint64_t *num_metrics);
fpga_result fpgaGetMetricsInfo(fpga_handle handle, fpga_metric_info *metric_info,
			       uint64_t *num_metrics);
fpga_result fpgaGetMetricsByIndex(fpga_handle handle, uint64_t *metric_num,
				  uint64_t num_metric_indexes, fpga_metric *metrics);
fpga_result fpgaGetMetricsByName(fpga_handle handle, char **metrics_names,
				 uint64_t num_metric_names, fpga_metric *metrics);
fpga_result fpgaGetMetricsThresholdInfo(fpga_handle handle,
					struct metric_threshold *metric_thresholds,
					uint32_t *num_thresholds);

#ifdef __cplusplus
}
#endif

#endif
