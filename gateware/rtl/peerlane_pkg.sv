// Generated from the Rust crates `protocol` and `device` by `cargo xtask generate`; a test compares them.
//
// Formats of packets, and the registers that driver, model and circuit share. A header is a number whose highest byte is the
// first one on the wire; `wire_order` puts it in the order of a stream's lanes.

/* verilator lint_off UNUSEDPARAM */
package peerlane_pkg;

  // Format and type, the first byte of a packet (PCIe Base 2.2.1).
  localparam logic [7:0] TLP_MEMORY_READ = 8'h00; // memory read, 12-byte header
  localparam logic [7:0] TLP_MEMORY_READ_WIDE = 8'h20; // memory read, 16-byte header
  localparam logic [7:0] TLP_MEMORY_WRITE = 8'h40; // memory write, 12-byte header
  localparam logic [7:0] TLP_MEMORY_WRITE_WIDE = 8'h60; // memory write, 16-byte header
  localparam logic [7:0] TLP_COMPLETION = 8'h0a; // completion without data
  localparam logic [7:0] TLP_COMPLETION_DATA = 8'h4a; // completion with data
  localparam logic [7:0] TLP_WIDE = 8'h20; // the bit of a 16-byte header
  localparam logic [7:0] TLP_DATA = 8'h40; // the bit of a packet with data
  localparam logic [7:0] TLP_MEMORY_READ_LOCKED = 8'h01; // locked memory read, 12-byte header
  localparam logic [7:0] TLP_COMPLETION_LOCKED = 8'h0b; // completion of a locked read without data
  localparam logic [7:0] TLP_COMPLETION_LOCKED_DATA = 8'h4b; // completion of a locked read with data
  localparam logic [7:0] TLP_FETCH_ADD = 8'h4c; // AtomicOp FetchAdd, 12-byte header
  localparam logic [7:0] TLP_SWAP = 8'h4d; // AtomicOp Swap, 12-byte header
  localparam logic [7:0] TLP_COMPARE_AND_SWAP = 8'h4e; // AtomicOp CAS, 12-byte header

  // Messages have these bits in this form; the others say how they are routed and whether they have data (PCIe Base table 2-3).
  localparam logic [7:0] TLP_MESSAGE_MASK = 8'hb8; // bits that all messages share
  localparam logic [7:0] TLP_MESSAGE = 8'h30; // a message

  // Completion Status (PCIe Base table 2-34).
  localparam logic [2:0] STATUS_SUCCESSFUL = 3'h0; // the request was carried out
  localparam logic [2:0] STATUS_UNSUPPORTED = 3'h1; // no function serves the request
  localparam logic [2:0] STATUS_RETRY = 3'h2; // a configuration request came too early
  localparam logic [2:0] STATUS_ABORT = 3'h4; // the completer could not carry it out

  // The result of a request in a circuit: a Completion Status, or one of four that no completer sends.
  localparam logic [2:0] RESULT_SUCCESSFUL = 3'h0; // all data came
  localparam logic [2:0] RESULT_UNSUPPORTED = 3'h1; // a completion with Unsupported Request or a reserved status
  localparam logic [2:0] RESULT_RETRY = 3'h2; // a completion with Configuration Request Retry Status
  localparam logic [2:0] RESULT_ABORT = 3'h4; // a completion with Completer Abort
  localparam logic [2:0] RESULT_POISONED = 3'h3; // all data came, some of it poisoned
  localparam logic [2:0] RESULT_MALFORMED = 3'h5; // a completion that does not fit its request, or whose beats end early
  localparam logic [2:0] RESULT_TIMEOUT = 3'h6; // no completion came in time
  localparam logic [2:0] RESULT_DESCRIPTOR = 3'h7; // a descriptor or a command whose range ends beyond 64 bits of address, or a command of 4 GiB or more

  // The errors that a circuit reports (`err_kind_o`).
  localparam logic [2:0] ERROR_UNSUPPORTED_REQUEST = 3'h0; // no part of the circuit serves the request
  localparam logic [2:0] ERROR_COMPLETER_ABORT = 3'h1; // the circuit could not carry the request out, or has dropped it
  localparam logic [2:0] ERROR_UNEXPECTED_COMPLETION = 3'h2; // a completion that belongs to no request, or does not fit it
  localparam logic [2:0] ERROR_COMPLETION_TIMEOUT = 3'h3; // no completion came in time for the request with this tag
  localparam logic [2:0] ERROR_POISONED_TLP = 3'h4; // a packet with poisoned data
  localparam logic [2:0] ERROR_MALFORMED_TLP = 3'h5; // a packet that breaks a rule of its form
  localparam logic [2:0] ERROR_CORRECTED_INTERNAL = 3'h6; // an error in the circuit itself that it has corrected
  localparam logic [2:0] ERROR_UNCORRECTED_INTERNAL = 3'h7; // an error in the circuit itself that it could not correct

  // Sizes in bytes.
  localparam int HEADER_SHORT = 12; // a header with a 32-bit address, or of a completion
  localparam int HEADER_WIDE = 16; // a header with a 64-bit address
  localparam int PAGE = 4096; // no request crosses a multiple (PCIe Base 2.2.7)
  localparam int MOST_PAYLOAD = 4096; // largest payload and largest read request
  localparam int LEAST_PAYLOAD = 128; // size that the value 0 of MPS and MRRS stands for

  // Registers of the configuration space: byte offsets, and bits of a dword.
  localparam logic [11:0] CFG_COMMAND = 12'h004; // Command and Status
  localparam logic [11:0] CFG_DEVICE_CONTROL = 12'h078; // Device Control and Status
  localparam logic [11:0] CFG_MSI = 12'h048; // MSI capability, Message Control
  localparam logic [11:0] CFG_MSIX = 12'h058; // MSI-X capability, Message Control
  localparam int CFG_MEMORY_SPACE_BIT = 1; // Memory Space Enable, in Command
  localparam int CFG_BUS_MASTER_BIT = 2; // Bus Master Enable, in Command
  localparam int CFG_MAX_PAYLOAD_BIT = 5; // Max_Payload_Size, in Device Control
  localparam int CFG_MAX_PAYLOAD_WIDTH = 3; // bits of the field
  localparam int CFG_MAX_READ_BIT = 12; // Max_Read_Request_Size, in Device Control
  localparam int CFG_MAX_READ_WIDTH = 3; // bits of the field
  localparam int CFG_MSI_ENABLE_BIT = 16; // MSI Enable, in the dword of Message Control
  localparam int CFG_MSIX_ENABLE_BIT = 31; // MSI-X Enable, in the dword of Message Control
  localparam int CFG_MSIX_MASK_BIT = 30; // Function Mask, in the dword of Message Control
  localparam int CFG_MSI_COUNT_BIT = 20; // Multiple Message Enable, in the dword of Message Control
  localparam int MSIX_ENTRY = 16; // bytes of an entry of the MSI-X table
  localparam int MSIX_VECTOR_CONTROL = 12; // offset of Vector Control in an entry
  localparam int MSIX_VECTOR_MASK_BIT = 0; // Mask Bit, in Vector Control

  // The DMA engine's registers in BAR 2. A unit's registers begin at its base.
  localparam int DMA_SIZE = 262144; // bytes of the BAR
  localparam logic [17:0] DMA_WRITE = 18'h00000; // base of the unit's registers
  localparam logic [17:0] DMA_WRITE_LIST = 18'h10000; // its descriptors
  localparam int DMA_WRITE_VECTOR = 0; // its interrupt vector
  localparam logic [17:0] DMA_READ = 18'h00040; // base of the unit's registers
  localparam logic [17:0] DMA_READ_LIST = 18'h20000; // its descriptors
  localparam int DMA_READ_VECTOR = 1; // its interrupt vector
  localparam logic [17:0] DMA_PEER = 18'h00080; // base of the unit's registers
  localparam int DMA_PEER_VECTOR = 2; // its interrupt vector
  localparam logic [5:0] DMA_ADDRESS = 6'h00; // address of the list, or of the target, 64 bits
  localparam logic [5:0] DMA_LENGTH = 6'h08; // number of descriptors, or of bytes, 64 bits
  localparam logic [5:0] DMA_PAYLOAD = 6'h10; // largest payload of a packet in bytes
  localparam logic [5:0] DMA_START = 6'h14; // a write begins a transfer
  localparam logic [5:0] DMA_STATUS = 6'h18; // status of the transfer
  localparam logic [5:0] DMA_TIMER = 6'h1c; // duration of the transfer in cycles
  localparam logic [5:0] DMA_CLASS = 6'h20; // traffic class of the requests for the data
  localparam logic [5:0] DMA_ERROR = 6'h24; // error that ended the transfer, of RESULT
  localparam logic [5:0] DMA_PATTERN = 6'h28; // first word of the source's data, 64 bits
  localparam logic [17:0] DMA_CROSSED = 18'h00100; // bit 0 crosses the interconnect matrix
  localparam logic [17:0] DMA_REPLY = 18'h00108; // address to which a reflector sends, 64 bits
  localparam logic [17:0] DMA_ROUND_TRIP = 18'h00110; // cycles that the peer timer has measured
  localparam logic [17:0] DMA_TIME_PEER = 18'h00114; // bit 0 lets the peer timer measure the next peer transfer
  localparam logic [17:0] DMA_COUNTERS = 18'h00200; // the counters, 64 bits each, in the order of DMA_COUNTER
  localparam int DMA_COUNTERS_END = 13; // number of counters
  localparam int DMA_COUNTER_TLPS = 0; // TLPs sent
  localparam int DMA_COUNTER_PAYLOAD_BYTES = 1; // payload bytes sent, in whole dwords
  localparam int DMA_COUNTER_RECEIVED_TLPS = 2; // TLPs received
  localparam int DMA_COUNTER_RECEIVED_PAYLOAD_BYTES = 3; // payload bytes received, in whole dwords
  localparam int DMA_COUNTER_WIRE = 4; // cycles in which a beat waited for the link
  localparam int DMA_COUNTER_TAGS = 5; // cycles in which a read of data waited for a tag
  localparam int DMA_COUNTER_OUTSTANDING = 6; // cycles in which a read of data waited for space for its completions
  localparam int DMA_COUNTER_UNSUPPORTED_REQUEST = 7; // received requests that no part serves
  localparam int DMA_COUNTER_MALFORMED_TLP = 8; // received packets of another length than their header says, and completions that do not fit their request
  localparam int DMA_COUNTER_POISONED_TLP = 9; // received packets with poisoned data
  localparam int DMA_COUNTER_UNEXPECTED_COMPLETION = 10; // received completions of no request
  localparam int DMA_COUNTER_COMPLETION_TIMEOUT = 11; // reads whose completions did not come in time
  localparam int DMA_COUNTER_COMPLETER_ABORT = 12; // received writes of peers that were dropped, because there was no space for them in time
  localparam int DMA_STATUS_RUNNING = 1; // value of DMA_STATUS
  localparam int DMA_STATUS_DONE = 2; // value of DMA_STATUS
  localparam int DMA_STATUS_FAILED = 3; // value of DMA_STATUS
  localparam logic [63:0] PATTERN_STEP = 64'h9e3779b97f4a7c15; // step from a word of a source's data to the next one
  localparam int DMA_DESCRIPTOR = 16; // bytes of a descriptor: address (64 bits), length (32 bits), 32 unused bits
  localparam int DMA_MOST_DESCRIPTORS = 4096; // most descriptors of a list in the engine

  // Fields of headers: the lowest bit in a number of 128 bits with byte 0 of the packet in bits 127:120, and the number of bits.
  localparam int TLP_KIND = 120; // format and type
  localparam int TLP_KIND_WIDTH = 8;
  localparam int TLP_TRAFFIC_CLASS = 116; // traffic class
  localparam int TLP_TRAFFIC_CLASS_WIDTH = 3;
  localparam int TLP_ID_ORDERING = 114; // ID-based ordering
  localparam int TLP_ORDERING = 108; // relaxed ordering and no snoop
  localparam int TLP_ORDERING_WIDTH = 2;
  localparam int TLP_POISONED = 110; // the data is poisoned (EP)

  // Memory requests (PCIe Base 2.2.7), at the same bits with both sizes of header but for the address.
  localparam int REQUEST_TAG_9 = 119; // bit 9 of the tag
  localparam int REQUEST_TAG_8 = 115; // bit 8 of the tag
  localparam int REQUEST_ADDRESS_TYPE = 106; // address type (AT)
  localparam int REQUEST_ADDRESS_TYPE_WIDTH = 2;
  localparam int REQUEST_REQUESTER = 80; // Requester ID
  localparam int REQUEST_REQUESTER_WIDTH = 16;
  localparam int REQUEST_TAG = 72; // bits 7 to 0 of the tag
  localparam int REQUEST_TAG_WIDTH = 8;
  localparam int REQUEST_LAST_BE = 68; // byte enables of the last dword
  localparam int REQUEST_LAST_BE_WIDTH = 4;
  localparam int REQUEST_FIRST_BE = 64; // byte enables of the first dword
  localparam int REQUEST_FIRST_BE_WIDTH = 4;
  localparam int REQUEST_DWORDS = 96; // length; 0 for 1024
  localparam int REQUEST_DWORDS_WIDTH = 10;
  localparam int SHORT_ADDRESS = 34; // address, in dwords
  localparam int SHORT_ADDRESS_WIDTH = 30;
  localparam int WIDE_ADDRESS = 2; // address, in dwords
  localparam int WIDE_ADDRESS_WIDTH = 62;

  // Completions (PCIe Base 2.2.9).
  localparam int COMPLETION_TAG_9 = 119; // bit 9 of the tag
  localparam int COMPLETION_TAG_8 = 115; // bit 8 of the tag
  localparam int COMPLETION_DWORDS = 96; // length; 0 for 1024
  localparam int COMPLETION_DWORDS_WIDTH = 10;
  localparam int COMPLETION_COMPLETER = 80; // Completer ID
  localparam int COMPLETION_COMPLETER_WIDTH = 16;
  localparam int COMPLETION_STATUS = 77; // Completion Status
  localparam int COMPLETION_STATUS_WIDTH = 3;
  localparam int COMPLETION_BYTE_COUNT = 64; // bytes still to come, with those here; 0 for 4096
  localparam int COMPLETION_BYTE_COUNT_WIDTH = 12;
  localparam int COMPLETION_REQUESTER = 48; // Requester ID
  localparam int COMPLETION_REQUESTER_WIDTH = 16;
  localparam int COMPLETION_TAG = 40; // bits 7 to 0 of the tag
  localparam int COMPLETION_TAG_WIDTH = 8;
  localparam int COMPLETION_LOWER_ADDRESS = 32; // bits 6 to 0 of the address of the first byte
  localparam int COMPLETION_LOWER_ADDRESS_WIDTH = 7;

  // A header in the order of a stream's lanes: byte 0 of the packet in bits 7:0.
  function automatic logic [127:0] wire_order(input logic [127:0] header);
    for (int k = 0; k < 16; k = k + 1) wire_order[8 * k +: 8] = header[120 - 8 * k +: 8];
  endfunction

endpackage
