"""What measuring tools write, in small."""

from __future__ import annotations

NVBANDWIDTH = """\
nvbandwidth Version: v0.7

Device 0: NVIDIA X (00000000:17:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     24.13       N/A

SUM host_to_device_memcpy_ce 24.13

Running device_local_copy.
Waived:
Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    771.25    802.50

SUM host_device_latency_sm 1573.75
"""

NVBANDWIDTH_JSON = """\
{"nvbandwidth": {"testcases": [
  {"name": "device_to_host_memcpy_ce", "status": "Passed",
   "bandwidth_description": "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)",
   "bandwidth_matrix": [["25.5", "N/A"]], "sum": 25.5},
  {"name": "device_local_copy", "status": "Waived"}]}}
"""

P2P = """\
[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
P2P Connectivity Matrix
     D\\D     0     1
     0       1     1
     1       1     1
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 801.50  19.75
     1  19.81 802.25
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   2.25   1.50
     1   1.52   2.31

   CPU     0      1
     0   3.02   1.93
     1   1.95   3.11

NOTE: a note
"""

NCCL = """\
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 1048576 maxBytes 1048576 step: 2(factor)
#
#                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    91.25   11.49   11.49      0    90.75   11.55   11.55    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 11.52
"""  # noqa: E501 - lines of a tool

PERFTEST = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      5000             11525.25            11520.50                  0.184328
---------------------------------------------------------------------------------------
"""

PERFTEST_LATENCY = """\
---------------------------------------------------------------------------------------
                    RDMA_Read Latency Test
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 64      1000          1.61           4.25         1.66                1.67             0.05            1.81                   4.02
---------------------------------------------------------------------------------------
"""  # noqa: E501 - lines of a tool

PERFTEST_DURATION = """\
                    RDMA_Write Latency Test
 #bytes        #iterations       t_avg[usec]    tps average
Conflicting CPU frequency values detected: 1200.0 != 2600.0. CPU Frequency is not max.
 2             500000            1.02           980392.16
"""

FIO = """\
fio: a warning
{
  "fio version" : "fio-3.36",
  "global options" : {"rw" : "randread"},
  "jobs" : [
    {"jobname" : "a-to-b", "job options" : {"bs" : "4k", "iodepth" : "32"},
     "read" : {"bw_bytes" : 2950000000,
               "lat_ns" : {"min" : 0, "max" : 0, "mean" : 0.0},
               "clat_ns" : {"min" : 61000, "max" : 99000, "mean" : 70123.5,
                            "percentile" : {"50.000000" : 70144, "99.950000" : 91000}}},
     "write" : {"bw_bytes" : 0}}
  ]
}
"""
