/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupts, told by a descriptor that can be polled. */
#ifndef PEERLANE_OPAE_EVENT_H
#define PEERLANE_OPAE_EVENT_H

#include <opae/types.h>

#ifdef __cplusplus
extern "C" {
#endif

fpga_result fpgaCreateEventHandle(fpga_event_handle *event_handle);
fpga_result fpgaDestroyEventHandle(fpga_event_handle *event_handle);
/* The descriptor, of an event that was registered. */
fpga_result fpgaGetOSObjectFromEventHandle(const fpga_event_handle eh, int *fd);
/* flags: which interrupt. */
fpga_result fpgaRegisterEvent(fpga_handle handle, fpga_event_type event_type,
			      fpga_event_handle event_handle, uint32_t flags);
fpga_result fpgaUnregisterEvent(fpga_handle handle, fpga_event_type event_type,
				fpga_event_handle event_handle);

#ifdef __cplusplus
}
#endif

#endif
