-- Dissector of the captures of Peerlane (`peerlane run FILE --pcap CAPTURE`): TLPs, DLLPs, ordered sets, frames of fibres, packets
-- of network interface controllers and coherence messages. docs/reference/capture.md describes the pseudo-header of each packet.
--
-- Written for Wireshark 4.0 and later. Numbers of sections are those of the PCI Express Base Specification.

local peerlane = Proto("peerlane", "Peerlane link capture")

peerlane.prefs.check_crc = Pref.bool("Check LCRC and CRC", true, "Compute the checksums of TLPs, DLLPs and frames")

local f = {}

-- Declares the field `peerlane.NAME`, with NAME as its key in `f`.
local function field(kind, name, title, ...)
  f[name] = ProtoField[kind]("peerlane." .. name, title, ...)
end

local YES_NO = { "yes", "no" }

-- Pseudo-header ---------------------------------------------------------------------------------------------------------------

local KIND = { TLP = 1, DLLP = 2, ORDERED_SETS = 3, FIBRE = 4, BLOCK = 5, NETWORK = 6 }
local KINDS = {
  [1] = "TLP", [2] = "DLLP", [3] = "ordered sets", [4] = "fibre frame", [5] = "fibre control block", [6] = "network packet",
}
local VERDICTS = {
  [0] = "not known", [1] = "accepted", [2] = "duplicate", [3] = "nak", [4] = "nullified", [5] = "discarded", [6] = "unframed",
  [7] = "link-down",
}

field("uint8", "version", "Version of the pseudo-header")
field("uint8", "kind", "Kind", base.DEC, KINDS)
field("uint16", "header_length", "Length of the pseudo-header")
field("uint16", "flags", "Flags", base.HEX)
field("bool", "up", "Up", 16, YES_NO, 0x0001, "Towards the root, or from the second end of a fibre or cable to the first")
field("bool", "replay", "Replay", 16, YES_NO, 0x0002, "The packet was sent before")
field("bool", "nullified", "Nullified", 16, YES_NO, 0x0004, "The packet ends with EDB and an inverted LCRC")
field("bool", "damaged", "Damaged", 16, YES_NO, 0x0008, "Bits of the packet arrived wrong")
field("bool", "arrived", "Arrived", 16, YES_NO, 0x0010, "The capture has the decision of the receiver")
field("uint16", "wrong_bits", "Wrong bits", base.DEC, nil, nil, "Bits that arrived wrong; the capture has them as they were sent")
field("uint64", "time_fs", "Time (fs)", base.DEC, nil, nil, "When the first bit takes the wire, in femtoseconds")
field("uint64", "length_fs", "Time on the wire (fs)", base.DEC)
field("uint64", "arrival_fs", "Arrival (fs)", base.DEC, nil, nil, "When the last bit is through the receiver's pipeline")
field("uint8", "verdict", "Receiver", base.DEC, VERDICTS, nil, "The decision of the receiver")
field("uint16", "link_number", "Number of the link", base.DEC, nil, nil, "The same in both directions")
field("string", "flow", "Flow", base.UNICODE, "The flow, workload or collective that the packet belongs to")
field("string", "link", "Link")
field("string", "direction", "Direction")

-- TLPs: 2.2 -------------------------------------------------------------------------------------------------------------------

local FORMATS = {
  [0] = "3 dwords, no data", [1] = "4 dwords, no data", [2] = "3 dwords, data", [3] = "4 dwords, data", [4] = "prefix",
}
local ADDRESS_TYPES = { [0] = "untranslated", [1] = "translation request", [2] = "translated", [3] = "reserved" }
local STATUSES = {
  [0] = "successful", [1] = "unsupported-request", [2] = "configuration-retry", [4] = "completer-abort",
}
local ROUTINGS = {
  [0] = "to the root complex", [1] = "by address", [2] = "by ID", [3] = "broadcast from the root complex",
  [4] = "local", [5] = "gathered", [6] = "reserved", [7] = "reserved",
}
-- Table F-1.
local MESSAGES = {
  [0x00] = "Unlock", [0x01] = "InvReq", [0x02] = "InvCpl", [0x04] = "PageReq", [0x05] = "PrgRsp", [0x10] = "LTR", [0x12] = "OBFF",
  [0x14] = "PM_Active_State_Nak", [0x18] = "PM_PME", [0x19] = "PME_Turn_Off", [0x1b] = "PME_TO_Ack",
  [0x20] = "Assert_INTA", [0x21] = "Assert_INTB", [0x22] = "Assert_INTC", [0x23] = "Assert_INTD",
  [0x24] = "Deassert_INTA", [0x25] = "Deassert_INTB", [0x26] = "Deassert_INTC", [0x27] = "Deassert_INTD",
  [0x30] = "ERR_COR", [0x31] = "ERR_NONFATAL", [0x33] = "ERR_FATAL", [0x50] = "Set_Slot_Power_Limit",
  [0x52] = "PTM_Request", [0x53] = "PTM_Response", [0x7e] = "Vendor_Defined_0", [0x7f] = "Vendor_Defined_1",
}
local PREFIXES = {
  [0x00] = "MR-IOV", [0x0e] = "VendPrefixL0", [0x0f] = "VendPrefixL1", [0x10] = "ExtTPH", [0x11] = "PASID",
  [0x1e] = "VendPrefixE0", [0x1f] = "VendPrefixE1",
}
local PAGE_RESPONSES = { [0] = "success", [1] = "invalid-request", [15] = "failure" }

field("none", "tlp", "Transaction-layer packet")
field("uint16", "tlp.sequence", "Sequence number")
field("string", "tlp.name", "TLP")
field("uint8", "tlp.fmt", "Fmt", base.DEC, FORMATS, 0xe0)
field("uint8", "tlp.type", "Type", base.HEX, nil, 0x1f)
field("uint8", "tlp.tc", "Traffic class", base.DEC, nil, 0x70)
field("string", "tlp.class", "Flow-control class")
field("bool", "tlp.ln", "Lightweight notification (LN)", 8, YES_NO, 0x02)
field("bool", "tlp.th", "Processing hints (TH)", 8, YES_NO, 0x01)
field("bool", "tlp.td", "Digest (TD)", 8, YES_NO, 0x80)
field("bool", "tlp.ep", "Poisoned (EP)", 8, YES_NO, 0x40)
field("bool", "tlp.ido", "ID-based ordering", 8, YES_NO, 0x04)
field("bool", "tlp.ro", "Relaxed ordering", 8, YES_NO, 0x20)
field("bool", "tlp.ns", "No snoop", 8, YES_NO, 0x10)
field("uint8", "tlp.at", "Address type (AT)", base.DEC, ADDRESS_TYPES, 0x0c)
field("uint16", "tlp.length", "Length (dwords)")
field("string", "tlp.requester", "Requester ID")
field("string", "tlp.completer", "Completer ID")
field("string", "tlp.target", "Target ID", base.UNICODE, "Of a configuration request, or of a message that is routed by ID")
field("uint16", "tlp.tag", "Tag")
field("uint8", "tlp.last_be", "Last byte enables", base.HEX, nil, 0xf0)
field("uint8", "tlp.first_be", "First byte enables", base.HEX, nil, 0x0f)
field("uint64", "tlp.address", "Address", base.HEX, nil, nil, "Of the first enabled byte")
field("uint16", "tlp.bytes", "Bytes", base.DEC, nil, nil, "From the first enabled byte to the last, or the operand's width")
field("uint16", "tlp.register", "Register", base.HEX, nil, nil, "Offset in the configuration space, in bytes")
field("uint8", "tlp.status", "Completion status", base.DEC, STATUSES, 0xe0)
field("bool", "tlp.bcm", "Byte count modified (BCM)", 8, YES_NO, 0x10)
field("uint16", "tlp.byte_count", "Byte count")
field("uint8", "tlp.lower_address", "Lower address", base.HEX, nil, 0x7f)
field("uint8", "tlp.routing", "Routing", base.DEC, ROUTINGS, 0x07)
field("uint8", "tlp.message", "Message code", base.HEX, MESSAGES)
field("uint16", "tlp.vendor", "Vendor ID", base.HEX)
field("uint8", "tlp.prefix", "Prefix", base.HEX, PREFIXES, 0x1f)
field("bytes", "tlp.prefix_data", "Content of the prefix")
field("uint32", "tlp.pasid", "PASID", base.DEC, nil, 0x000fffff)
field("bytes", "tlp.header", "Header")
field("bytes", "tlp.payload", "Payload")
field("uint32", "tlp.ecrc", "ECRC", base.HEX)
field("uint32", "tlp.lcrc", "LCRC", base.HEX)
field("uint8", "tlp.lcrc_status", "LCRC status", base.DEC, { [0] = "bad", [1] = "good", [2] = "not checked", [3] = "inverted" })

field("framenum", "response_in", "Completion in", base.NONE, frametype.RESPONSE)
field("framenum", "response_to", "Request in", base.NONE, frametype.REQUEST)
field("uint64", "response_time_fs", "Time since the request (fs)", base.DEC, nil, nil, "From first bit to first bit")

-- Address translation: chapter 10.
field("uint8", "ats.itag", "ITag", base.DEC, nil, 0x1f)
field("uint32", "ats.itags", "ITag vector", base.HEX)
field("uint8", "ats.count", "Completion count", base.DEC)
field("uint64", "ats.entry", "Entry", base.HEX)
field("uint16", "ats.group", "Page request group")
field("bool", "ats.last", "Last request of its group", 8, YES_NO, 0x04)
field("bool", "ats.write", "Write", 8, YES_NO, 0x02)
field("bool", "ats.read", "Read", 8, YES_NO, 0x01)
field("uint8", "ats.response", "Response code", base.DEC, PAGE_RESPONSES, 0xf0)

-- DLLPs: 3.5 ------------------------------------------------------------------------------------------------------------------

local CLASSES = { [0] = "posted", [1] = "non-posted", [2] = "completion" }
local SCALES = { [0] = "not scaled", [1] = "1", [2] = "4", [3] = "16" }
local SHIFTS = { [0] = 1, [1] = 1, [2] = 4, [3] = 16 }
local OTHER_DLLPS = {
  [0x01] = "MRInit", [0x20] = "PM_Enter_L1", [0x21] = "PM_Enter_L23", [0x23] = "PM_Active_State_Request_L1",
  [0x24] = "PM_Request_Ack", [0x30] = "Vendor", [0x31] = "NOP",
}

field("none", "dllp", "Data-link-layer packet")
field("string", "dllp.name", "DLLP")
field("uint8", "dllp.type", "Type", base.HEX)
field("uint16", "dllp.sequence", "Sequence number", base.DEC, nil, 0x0fff)
field("uint8", "dllp.vc", "Virtual channel", base.DEC, nil, 0x07)
field("uint8", "dllp.class", "Flow-control class", base.DEC, CLASSES, 0x30)
field("uint8", "dllp.hdr_scale", "HdrScale", base.DEC, SCALES)
field("uint8", "dllp.hdr_fc", "HdrFC")
field("uint8", "dllp.data_scale", "DataScale", base.DEC, SCALES)
field("uint16", "dllp.data_fc", "DataFC")
field("uint16", "dllp.hdr_credits", "Header credits", base.DEC, nil, nil, "HdrFC times its scaling factor")
field("uint16", "dllp.data_credits", "Data credits", base.DEC, nil, nil, "DataFC times its scaling factor, 16 bytes each")
field("bool", "dllp.infinite_hdr", "Infinite header credits")
field("bool", "dllp.infinite_data", "Infinite data credits")
field("bool", "dllp.feature_ack", "Feature Ack", 8, YES_NO, 0x80)
field("uint32", "dllp.features", "Features", base.HEX, nil, 0x007fffff)
field("bool", "dllp.scaled_fc", "Scaled flow control", 8, YES_NO, 0x01)
field("bytes", "dllp.raw", "Bytes")
field("uint16", "dllp.crc", "CRC", base.HEX)
field("uint8", "dllp.crc_status", "CRC status", base.DEC, { [0] = "bad", [1] = "good", [2] = "not checked" })

-- Ordered sets ----------------------------------------------------------------------------------------------------------------

field("none", "ordered_sets", "Ordered sets")
field("uint8", "ordered_sets.type", "Ordered set", base.DEC, { [1] = "SKP" })
field("uint8", "ordered_sets.eds_bytes", "Bytes of the EDS token before each")
field("uint16", "ordered_sets.bytes", "Bytes of each over all lanes")
field("uint32", "ordered_sets.count", "Number")
field("uint64", "ordered_sets.interval_fs", "From one to the next (fs)")

-- Fibres ----------------------------------------------------------------------------------------------------------------------

local CONTENTS = { [0] = "tlp", [1] = "message", [2] = "sum" }
local BLOCKS = { [1] = "freed", [2] = "sent", [3] = "acknowledge", [4] = "refuse", [5] = "pause", [6] = "resume" }

field("none", "fibre", "Fibre frame")
field("uint8", "fibre.content", "Content", base.DEC, CONTENTS, 0xf0)
field("uint8", "fibre.channel", "Virtual channel", base.DEC, nil, 0x0f)
field("uint8", "fibre.port", "Port of the destination")
field("uint16", "fibre.destination", "Destination node")
field("uint16", "fibre.source", "Source node")
field("uint16", "fibre.length", "Length (bytes)")
field("uint16", "fibre.sequence", "Sequence number")
field("uint64", "fibre.address", "Address", base.HEX)
field("bytes", "fibre.payload", "Payload")
field("uint32", "fibre.crc", "CRC", base.HEX)
field("uint8", "fibre.crc_status", "CRC status", base.DEC, { [0] = "bad", [1] = "good", [2] = "not checked" })
field("none", "block", "Control block")
field("uint8", "block.type", "Control block", base.DEC, BLOCKS)
field("uint8", "block.channel", "Virtual channel")
field("uint16", "block.cycles", "Cycles")
field("uint16", "block.next", "Next frame")

-- Packets between network interface controllers -------------------------------------------------------------------------------

local PACKET_TYPES = { [1] = "NAP", [2] = "PUT", [3] = "GET" }

field("none", "network", "Network packet")
field("uint8", "network.type", "PKTType", base.DEC, PACKET_TYPES, 0x0c)
field("uint8", "network.unused", "Unused bytes of the last dword", base.DEC, nil, 0x03)
field("bool", "network.event", "S_Flag", 8, YES_NO, 0x04)
field("uint16", "network.magic", "QPMagic", base.HEX)
field("uint16", "network.source", "Source queue pair")
field("uint16", "network.destination", "Destination queue pair")
for _, end_ in ipairs({ "source", "destination" }) do
  field("uint8", "network." .. end_ .. "_processor", "Processor")
  field("uint8", "network." .. end_ .. "_function", "Function")
  field("uint8", "network." .. end_ .. "_pair", "Queue pair of the function")
end
field("uint64", "network.address", "Address", base.HEX)
field("uint16", "network.bytes", "Bytes")

-- Coherence messages ----------------------------------------------------------------------------------------------------------

local COHERENCE = {
  [0x00] = "ReadOnce", [0x01] = "ReadShared", [0x02] = "ReadUnique", [0x03] = "CleanUnique", [0x04] = "MakeUnique",
  [0x05] = "WriteBackFullUD", [0x06] = "WriteUniqueFull", [0x07] = "WriteUniquePtl", [0x08] = "Atomic",
  [0x10] = "SnpToAny", [0x11] = "SnpToSC", [0x12] = "SnpToI",
  [0x20] = "Comp", [0x21] = "Comp", [0x22] = "Comp", [0x24] = "CompData", [0x25] = "CompData", [0x26] = "CompData",
  [0x28] = "CompData", [0x29] = "CompData", [0x2a] = "CompData",
  [0x30] = "SnpResp", [0x31] = "SnpResp", [0x32] = "SnpResp", [0x33] = "SnpResp",
  [0x34] = "SnpRespData", [0x35] = "SnpRespData", [0x36] = "SnpRespData", [0x37] = "SnpRespData",
  [0x40] = "CompAck",
}
local ATOMICS = { [0] = "AtomicStore", [1] = "AtomicLoad", [2] = "AtomicSwap", [3] = "AtomicCompare" }
local ATOMIC_FUNCTIONS = {
  [0] = "ADD", [1] = "CLR", [2] = "EOR", [3] = "SET", [4] = "SMAX", [5] = "SMIN", [6] = "UMAX", [7] = "UMIN",
}
local STATES = { [0] = "invalid", [1] = "shared clean", [2] = "unique clean", [3] = "unique dirty" }
local GRANTS = { [0] = "nothing", [1] = "shared", [2] = "unique" }

field("none", "coherence", "Coherence message")
field("string", "coherence.message", "Message")
field("uint8", "coherence.code", "Code", base.HEX, COHERENCE)
field("uint8", "coherence.target", "Target agent")
field("uint8", "coherence.source", "Source agent")
field("uint16", "coherence.transaction", "Transaction")
field("uint64", "coherence.address", "Address of the line", base.HEX)
field("uint8", "coherence.offset", "Offset in the line")
field("uint16", "coherence.bytes", "Bytes")
field("uint8", "coherence.function", "Function", base.DEC, ATOMIC_FUNCTIONS)
field("uint8", "coherence.state", "State that is kept", base.DEC, STATES)
field("uint8", "coherence.grant", "Granted", base.DEC, GRANTS)
field("bytes", "coherence.data", "Data")
field("bool", "coherence.poisoned", "Poisoned", 8, YES_NO, 0x80)
field("uint8", "coherence.poison", "Poisoned words of 8 bytes", base.HEX)

do
  local all = {}
  for _, one in pairs(f) do
    all[#all + 1] = one
  end
  peerlane.fields = all
end

-- What is wrong or worth a look -----------------------------------------------------------------------------------------------

local e = {}

local function info(name, text, group, severity)
  e[name] = ProtoExpert.new("peerlane.expert." .. name, text, expert.group[group], expert.severity[severity])
end

info("bad_lcrc", "The LCRC does not match", "CHECKSUM", "ERROR")
info("bad_crc", "The CRC does not match", "CHECKSUM", "ERROR")
info("damaged", "Bits arrived wrong", "CHECKSUM", "WARN")
info("nullified", "The packet is nullified", "SEQUENCE", "NOTE")
info("replay", "The packet is sent again", "SEQUENCE", "NOTE")
info("rejected", "The receiver does not accept the packet", "SEQUENCE", "WARN")
info("nak", "The receiver asks for a replay", "SEQUENCE", "WARN")
info("poisoned", "The data is poisoned", "RESPONSE_CODE", "WARN")
info("failed", "The request failed", "RESPONSE_CODE", "WARN")
info("malformed", "The packet is malformed", "MALFORMED", "ERROR")
info("unknown", "This dissector does not know the format", "UNDECODED", "WARN")

do
  local all = {}
  for _, one in pairs(e) do
    all[#all + 1] = one
  end
  peerlane.experts = all
end

-- Checksums -------------------------------------------------------------------------------------------------------------------

-- Lua 5.3 and later have an operator, earlier versions in Wireshark a library.
local bxor = bit and bit.bxor or bit32 and bit32.bxor or load("return function(a, b) return a ~ b end")()
local U32 = 4294967296

-- The table of a reflected CRC: the remainder of each byte.
local function crc_table(polynomial)
  local remainders = {}
  for byte = 0, 255 do
    local remainder = byte
    for _ = 1, 8 do
      local is_odd = remainder % 2 == 1
      remainder = math.floor(remainder / 2)
      if is_odd then
        remainder = bxor(remainder, polynomial) % U32
      end
    end
    remainders[byte] = remainder
  end
  return remainders
end

local CRC32 = crc_table(0xedb88320)
local CRC16 = crc_table(0xd008)

-- The CRC of the bytes of `range`, as a number whose low byte is sent first.
local function crc(range, remainders, ones)
  local bytes = range:bytes()
  local state = ones
  for index = 0, range:len() - 1 do
    state = bxor(math.floor(state / 256), remainders[bxor(state % 256, bytes:get_index(index)) % 256]) % U32
  end
  return ones - state
end

-- Parts -----------------------------------------------------------------------------------------------------------------------

local function function_id(number)
  return string.format("%02x:%02x.%x", math.floor(number / 256), math.floor(number / 8) % 32, number % 8)
end

-- The place of the first and of the last bit that is set among four.
local FIRST_SET = { [0] = 0 }
local LAST_SET = { [0] = -1 }
for enables = 1, 15 do
  local first, last
  for place = 0, 3 do
    if math.floor(enables / 2 ^ place) % 2 == 1 then
      first, last = first or place, place
    end
  end
  FIRST_SET[enables], LAST_SET[enables] = first, last
end

local function hex(value)
  local text = tostring(type(value) == "number" and string.format("%x", value) or value:tohex()):lower():gsub("^0+", "")
  return "0x" .. (text == "" and "0" or text)
end

-- Requests that wait for completions, by link, requester and tag; what each completion answers, by frame; and the completions of
-- each request.
local open_requests, answered, answers = {}, {}, {}

function peerlane.init()
  open_requests, answered, answers = {}, {}, {}
end

-- Coherence -------------------------------------------------------------------------------------------------------------------

-- Dissects the messages in `range`; returns their names.
local function coherence(range, tree, pinfo)
  local names = {}
  local at = 0
  while at + 4 <= range:len() do
    local poisoned = range(at, 1):bitfield(0, 1) == 1
    local code = range(at, 1):bitfield(1, 7)
    local rest = range:len() - at
    local name = COHERENCE[code]
    local len, data_at, data_len = 4, nil, 0
    if code <= 0x08 or code >= 0x10 and code <= 0x12 then
      len = 12
    end
    if not name or rest < len then
      tree:add_proto_expert_info(e.malformed, "This is not a coherence message")
      break
    end
    if code == 0x05 or code == 0x06 then
      data_at, data_len = 12, 64
    elseif code == 0x07 and rest >= 16 then
      data_at, data_len = 16, range(at + 12, 4):uint()
    elseif code == 0x08 and rest >= 16 then
      local what = range(at + 12, 1):bitfield(0, 4)
      name = ATOMICS[what] or name
      data_at, data_len = 16, range(at + 15, 1):uint() * (what == 3 and 2 or 1)
    elseif code >= 0x24 and code <= 0x26 or code >= 0x34 and code <= 0x37 then
      data_at, data_len = 4, 64
    elseif code >= 0x28 and code <= 0x2a then
      data_at, data_len = 4, 4 * 2 ^ (code - 0x28)
    elseif code == 0x07 or code == 0x08 then
      data_at, data_len = 16, 0
    end
    if data_at then
      len = data_at + math.ceil(data_len / 4) * 4
    end
    local poison_at = poisoned and not (code >= 0x28 and code <= 0x2a) and len
    if poison_at then
      len = len + 4
    end
    if len > rest then
      tree:add_proto_expert_info(e.malformed, "The last coherence message is cut off")
      break
    end
    local message = range(at, len)
    local branch = tree:add(f["coherence"], message)
    branch:add(f["coherence.message"], message(0, 1), name)
    branch:add(f["coherence.code"], message(0, 1), code)
    branch:add(f["coherence.poisoned"], message(0, 1))
    local target, source = message(0, 4):bitfield(8, 6), message(0, 4):bitfield(14, 6)
    branch:add(f["coherence.target"], message(1, 1), target)
    branch:add(f["coherence.source"], message(1, 2), source)
    branch:add(f["coherence.transaction"], message(2, 2), message(0, 4):bitfield(20, 12))
    local text = string.format("%s %d->%d", name, source, target)
    if code <= 0x12 then
      local low = message(8, 4):uint()
      local line = UInt64(low - low % 64, message(4, 4):uint())
      branch:add(f["coherence.address"], message(4, 8), line)
      if code == 0x07 or code == 0x08 then
        branch:add(f["coherence.offset"], message(11, 1), low % 64)
        branch:add(f["coherence.bytes"], message(12, 4), code == 0x07 and data_len or message(15, 1):uint())
      end
      if code == 0x08 and message(12, 1):bitfield(0, 4) < 2 then
        branch:add(f["coherence.function"], message(12, 1), message(12, 1):bitfield(4, 4))
      end
      text = text .. " " .. hex(line)
    elseif code < 0x28 then
      branch:add(f["coherence.grant"], message(0, 1), code % 4)
    elseif code >= 0x30 and code < 0x40 then
      branch:add(f["coherence.state"], message(0, 1), code % 4)
    end
    if data_at and data_len > 0 then
      branch:add(f["coherence.data"], message(data_at, data_len))
    end
    if poison_at then
      branch:add(f["coherence.poison"], message(poison_at + 3, 1))
    end
    branch:set_text(text)
    names[#names + 1] = text
    at = at + len
  end
  return table.concat(names, ", ")
end

-- TLPs ------------------------------------------------------------------------------------------------------------------------

local NON_POSTED, POSTED, COMPLETION = "non-posted", "posted", "completion"

-- By the type: the names without and with data, and the class without and with data. 2.2.1, table 2-3.
local TYPES = {
  [0x00] = { "MRd", "MWr", NON_POSTED, POSTED },
  [0x01] = { "MRdLk", nil, NON_POSTED },
  [0x02] = { "IORd", "IOWr", NON_POSTED, NON_POSTED },
  [0x04] = { "CfgRd0", "CfgWr0", NON_POSTED, NON_POSTED },
  [0x05] = { "CfgRd1", "CfgWr1", NON_POSTED, NON_POSTED },
  [0x0a] = { "Cpl", "CplD", COMPLETION, COMPLETION },
  [0x0b] = { "CplLk", "CplDLk", COMPLETION, COMPLETION },
  [0x0c] = { nil, "FetchAdd", nil, NON_POSTED },
  [0x0d] = { nil, "Swap", nil, NON_POSTED },
  [0x0e] = { nil, "CAS", nil, NON_POSTED },
  [0x1b] = { nil, "DMWr", nil, NON_POSTED },
}

local dissect_header = {}

-- The address of 32 or 64 bits at the third dword.
local function address_of(header, is_wide, low_bits)
  if is_wide then
    local low = header(12, 4):uint()
    return UInt64(low - low % low_bits, header(8, 4):uint()), header(8, 8)
  end
  local low = header(8, 4):uint()
  return UInt64(low - low % low_bits, 0), header(8, 4)
end

local function request_ids(tlp, header, branch)
  tlp.requester, tlp.tag = function_id(header(4, 2):uint()), tlp.tag_high + header(6, 1):uint()
  branch:add(f["tlp.requester"], header(4, 2), tlp.requester)
  branch:add(f["tlp.tag"], header(6, 1), tlp.tag)
end

-- A memory request or an I/O request, or an atomic operation.
function dissect_header.request(tlp, header, branch)
  request_ids(tlp, header, branch)
  local address, place = address_of(header, tlp.is_wide, 4)
  local bytes
  if tlp.type >= 0x0c and tlp.type <= 0x0e then
    -- The operands have the same width; 6.15.
    bytes = tlp.length * 4 / (tlp.type == 0x0e and 2 or 1)
  elseif tlp.has_hints then
    -- The byte enables of a read are a steering tag; all bytes are enabled. 2.2.7.1.
    bytes = tlp.length * 4
  else
    local last_be, first_be = header(7, 1):bitfield(0, 4), header(7, 1):bitfield(4, 4)
    branch:add(f["tlp.last_be"], header(7, 1))
    branch:add(f["tlp.first_be"], header(7, 1))
    if tlp.at == 1 then
      bytes = tlp.length * 4
    else
      local lead = FIRST_SET[first_be]
      if tlp.length == 1 then
        bytes = LAST_SET[first_be] + 1 - lead
      else
        bytes = tlp.length * 4 - lead - (3 - LAST_SET[last_be])
      end
      address = address + lead
    end
  end
  tlp.address, tlp.bytes = address, bytes
  branch:add(f["tlp.address"], place, address)
  branch:add(f["tlp.bytes"], header(2, 2), bytes)
  tlp.info = string.format("%s %s, %d bytes, tag %d", tlp.requester, hex(address), bytes, tlp.tag)
  if tlp.at ~= 0 then
    tlp.info = tlp.info .. ", " .. (ADDRESS_TYPES[tlp.at] or "")
  end
end

function dissect_header.configuration(tlp, header, branch)
  request_ids(tlp, header, branch)
  branch:add(f["tlp.last_be"], header(7, 1))
  branch:add(f["tlp.first_be"], header(7, 1))
  local target, register = function_id(header(8, 2):uint()), header(10, 2):bitfield(4, 10) * 4
  branch:add(f["tlp.target"], header(8, 2), target)
  branch:add(f["tlp.register"], header(10, 2), register)
  tlp.info = string.format("%s to %s register %s, tag %d", tlp.requester, target, hex(register), tlp.tag)
end

function dissect_header.completion(tlp, header, branch)
  local completer = function_id(header(4, 2):uint())
  branch:add(f["tlp.completer"], header(4, 2), completer)
  branch:add(f["tlp.status"], header(6, 1))
  branch:add(f["tlp.bcm"], header(6, 1))
  local byte_count = header(6, 2):bitfield(4, 12)
  byte_count = byte_count == 0 and 4096 or byte_count
  branch:add(f["tlp.byte_count"], header(6, 2), byte_count)
  tlp.requester, tlp.tag = function_id(header(8, 2):uint()), tlp.tag_high + header(10, 1):uint()
  branch:add(f["tlp.requester"], header(8, 2), tlp.requester)
  branch:add(f["tlp.tag"], header(10, 1), tlp.tag)
  branch:add(f["tlp.lower_address"], header(11, 1))
  local status = header(6, 1):bitfield(0, 3)
  local carried = math.min(byte_count, tlp.length * 4 - header(11, 1):bitfield(6, 2))
  tlp.is_last = status ~= 0 or not tlp.has_data or carried >= byte_count
  tlp.info = string.format("%s for %s, tag %d", completer, tlp.requester, tlp.tag)
  if tlp.has_data then
    tlp.info = string.format("%s, %d of %d bytes", tlp.info, carried, byte_count)
  end
  if status ~= 0 then
    local text = STATUSES[status] or "reserved status"
    branch:add_proto_expert_info(e.failed, "The request failed: " .. text)
    tlp.info = tlp.info .. ", " .. text
  end
end

local VENDOR_DEFINED, CCIX = { [0x7e] = true, [0x7f] = true }, 0x1e2c

function dissect_header.message(tlp, header, branch)
  local requester, code = function_id(header(4, 2):uint()), header(7, 1):uint()
  branch:add(f["tlp.routing"], header(0, 1))
  branch:add(f["tlp.message"], header(7, 1))
  if VENDOR_DEFINED[code] and header(10, 2):uint() == CCIX then
    branch:add(f["tlp.vendor"], header(10, 2))
    tlp.name, tlp.is_coherence = "coherence", true
    return
  end
  tlp.name = MESSAGES[code] or "Msg"
  branch:add(f["tlp.requester"], header(4, 2), requester)
  local parts = { requester }
  if header(0, 1):bitfield(5, 3) == 2 then
    local target = function_id(header(8, 2):uint())
    branch:add(f["tlp.target"], header(8, 2), target)
    parts[#parts + 1] = "to " .. target
  end
  if VENDOR_DEFINED[code] then
    branch:add(f["tlp.vendor"], header(10, 2))
  elseif code == 0x01 then
    branch:add(f["ats.itag"], header(6, 1))
    parts[#parts + 1] = "ITag " .. header(6, 1):bitfield(3, 5)
    tlp.is_invalidation = true
  elseif code == 0x02 then
    local count = header(11, 1):bitfield(5, 3)
    branch:add(f["ats.count"], header(11, 1), count == 0 and 8 or count)
    branch:add(f["ats.itags"], header(12, 4))
    parts[#parts + 1] = "ITags " .. hex(header(12, 4):uint())
  elseif code == 0x04 then
    local address = address_of(header, true, 4096)
    branch:add(f["tlp.address"], header(8, 8), address)
    branch:add(f["ats.group"], header(14, 2), header(14, 2):bitfield(4, 9))
    branch:add(f["ats.last"], header(15, 1))
    branch:add(f["ats.write"], header(15, 1))
    branch:add(f["ats.read"], header(15, 1))
    parts[#parts + 1] = hex(address) .. " group " .. header(14, 2):bitfield(4, 9)
  elseif code == 0x05 then
    branch:add(f["ats.response"], header(10, 1))
    branch:add(f["ats.group"], header(10, 2), header(10, 2):bitfield(7, 9))
    parts[#parts + 1] = "group " .. header(10, 2):bitfield(7, 9)
  end
  tlp.info = table.concat(parts, " ")
end

local HEADERS = {
  [0x00] = "request", [0x01] = "request", [0x02] = "request", [0x04] = "configuration", [0x05] = "configuration",
  [0x0a] = "completion", [0x0b] = "completion", [0x0c] = "request", [0x0d] = "request", [0x0e] = "request", [0x1b] = "request",
}

-- The fields of the first dword of every header.
local function common_fields(tlp, header, branch)
  local first = header(0, 4)
  tlp.type = first:bitfield(3, 5)
  tlp.has_data, tlp.is_wide = first:bitfield(1, 1) == 1, first:bitfield(2, 1) == 1
  tlp.length = first:bitfield(22, 10)
  -- Of a packet without data and without a request for data, the field is reserved; 2.2.2.
  if tlp.length == 0 and (tlp.has_data or tlp.type <= 0x02) then
    tlp.length = 1024
  end
  tlp.has_digest, tlp.has_hints = first:bitfield(16, 1) == 1, first:bitfield(15, 1) == 1
  tlp.tag_high, tlp.at = first:bitfield(8, 1) * 512 + first:bitfield(12, 1) * 256, first:bitfield(20, 2)
  branch:add(f["tlp.fmt"], header(0, 1))
  branch:add(f["tlp.type"], header(0, 1))
  branch:add(f["tlp.tc"], header(1, 1))
  branch:add(f["tlp.ido"], header(1, 1))
  branch:add(f["tlp.ln"], header(1, 1))
  branch:add(f["tlp.th"], header(1, 1))
  branch:add(f["tlp.td"], header(2, 1))
  branch:add(f["tlp.ep"], header(2, 1))
  branch:add(f["tlp.ro"], header(2, 1))
  branch:add(f["tlp.ns"], header(2, 1))
  branch:add(f["tlp.at"], header(2, 1))
  branch:add(f["tlp.length"], header(2, 2), tlp.length)
  if first:bitfield(17, 1) == 1 then
    branch:add_proto_expert_info(e.poisoned)
    tlp.is_poisoned = true
  end
end

-- The optimized header of coherence packets: one dword of a type that PCI Express does not assign.
local OPTIMIZED = 0x7e

-- Dissects prefixes; returns the place of the header.
local function prefixes(range, branch)
  local at = 0
  while at + 4 < range:len() and range(at, 1):bitfield(0, 3) == 4 do
    local prefix = range(at, 4)
    branch:add(f["tlp.prefix"], prefix(0, 1))
    branch:add(f["tlp.prefix_data"], prefix(1, 3))
    if prefix(0, 1):bitfield(3, 5) == 0x11 then
      branch:add(f["tlp.pasid"], prefix)
    end
    at = at + 4
  end
  return at
end

-- Remembers requests, and joins them with their completions.
local function match(tlp, pinfo, branch, meta)
  if not tlp.requester or meta.is_lost then
    return
  end
  local key = meta.link .. " " .. tlp.requester .. " " .. tlp.tag
  if tlp.class == NON_POSTED then
    if not pinfo.visited then
      open_requests[key] = { frame = pinfo.number, fs = meta.fs, at = tlp.at }
      answers[pinfo.number] = {}
    end
    for _, frame in ipairs(answers[pinfo.number] or {}) do
      branch:add(f["response_in"], frame):set_generated()
    end
  elseif tlp.class == COMPLETION then
    if not pinfo.visited and open_requests[key] then
      local request = open_requests[key]
      answered[pinfo.number] = request
      table.insert(answers[request.frame], pinfo.number)
      if tlp.is_last then
        open_requests[key] = nil
      end
    end
    local request = answered[pinfo.number]
    if request then
      branch:add(f["response_to"], request.frame):set_generated()
      branch:add(f["response_time_fs"], meta.fs - request.fs):set_generated()
      tlp.is_translation = request.at == 1
    end
  end
end

-- Dissects a TLP without sequence number and LCRC; returns the line about it.
local function tlp_content(range, pinfo, tree, meta)
  local tlp = {}
  local branch = tree:add(f["tlp"], range)
  local at = prefixes(range, branch)
  local kind = range(at, 1):uint()
  local words = kind == OPTIMIZED and 1 or math.floor(kind / 32) % 2 == 1 and 4 or 3
  if at + words * 4 > range:len() then
    branch:add_proto_expert_info(e.malformed, "The header is cut off")
    return "malformed TLP"
  end
  local header = range(at, words * 4)
  branch:add(f["tlp.header"], header)
  common_fields(tlp, header, branch)
  local row, decode = TYPES[tlp.type], HEADERS[tlp.type]
  if kind == OPTIMIZED then
    tlp.name, tlp.class, tlp.is_coherence = "coherence", POSTED, true
  elseif tlp.type >= 0x10 and tlp.type <= 0x17 and words == 4 then
    tlp.class = POSTED
    dissect_header.message(tlp, header, branch)
  elseif row and row[tlp.has_data and 2 or 1] then
    tlp.name, tlp.class = row[tlp.has_data and 2 or 1], row[tlp.has_data and 4 or 3]
    dissect_header[decode](tlp, header, branch)
  else
    branch:add_proto_expert_info(e.unknown)
    tlp.name = string.format("TLP of type 0x%02x", kind)
  end
  branch:add(f["tlp.name"], header(0, 1), tlp.name)
  if tlp.class then
    branch:add(f["tlp.class"], header(0, 1), tlp.class)
  end
  match(tlp, pinfo, branch, meta)
  local begin, len = at + words * 4, tlp.has_data and tlp.length * 4 or 0
  if begin + len + (tlp.has_digest and 4 or 0) ~= range:len() then
    branch:add_proto_expert_info(e.malformed, "The length does not fit the packet")
    len = math.min(len, range:len() - begin)
  elseif tlp.has_digest then
    branch:add(f["tlp.ecrc"], range(begin + len, 4))
  end
  if len > 0 then
    local payload = range(begin, len)
    branch:add(f["tlp.payload"], payload)
    if tlp.is_coherence then
      tlp.info = coherence(payload, branch, pinfo)
    elseif tlp.is_translation or tlp.is_invalidation then
      for entry = 0, len - 8, 8 do
        branch:add(f["ats.entry"], payload(entry, 8))
      end
    end
  end
  local line = tlp.name .. (tlp.info and " " .. tlp.info or "")
  branch:set_text("Transaction-layer packet: " .. line)
  return tlp.is_poisoned and line .. ", poisoned" or line
end

-- Packets between network interface controllers: crates/protocol/src/network.rs has the format.
local function network_content(range, pinfo, tree)
  local branch = tree:add(f["network"], range)
  if range:len() < 16 then
    branch:add_proto_expert_info(e.malformed, "The header is cut off")
    return "malformed network packet"
  end
  local header = range(0, 16)
  branch:add(f["tlp.header"], header)
  local name = PACKET_TYPES[header(1, 1):bitfield(4, 2)] or "packet"
  branch:add(f["tlp.name"], header(1, 1), name)
  branch:add(f["tlp.class"], header(0, 1), POSTED)
  branch:add(f["tlp.fmt"], header(0, 1))
  branch:add(f["tlp.type"], header(0, 1))
  branch:add(f["tlp.tc"], header(1, 1))
  branch:add(f["network.type"], header(1, 1))
  branch:add(f["network.unused"], header(1, 1))
  branch:add(f["tlp.ep"], header(2, 1))
  branch:add(f["network.event"], header(2, 1))
  local has_data, dwords = header(0, 1):bitfield(1, 1) == 1, header(2, 2):bitfield(6, 10)
  dwords = has_data and (dwords == 0 and 1024 or dwords) or 0
  local bytes = dwords * 4 - (has_data and header(1, 1):bitfield(6, 2) or 0)
  branch:add(f["tlp.length"], header(2, 2), dwords)
  branch:add(f["network.bytes"], header(1, 3), bytes)
  branch:add(f["tlp.requester"], header(4, 2), function_id(header(4, 2):uint()))
  branch:add(f["network.magic"], header(6, 2))
  local pairs_ = {}
  for end_, bit_ in pairs({ source = 0, destination = 13 }) do
    local number = header(8, 4):bitfield(bit_, 13)
    local under = branch:add(f["network." .. end_], header(8, 4), number)
    local processor, fn, pair = math.floor(number / 32), math.floor(number / 4) % 8, number % 4
    under:add(f["network." .. end_ .. "_processor"], header(8, 4), processor)
    under:add(f["network." .. end_ .. "_function"], header(8, 4), fn)
    under:add(f["network." .. end_ .. "_pair"], header(8, 4), pair)
    pairs_[end_] = string.format("%d.%d.%d", processor, fn, pair)
  end
  local address = UInt64(header(12, 4):uint(), header(11, 1):bitfield(2, 6))
  branch:add(f["network.address"], header(11, 5), address)
  if header(2, 1):bitfield(1, 1) == 1 then
    branch:add_proto_expert_info(e.poisoned)
  end
  if range:len() ~= 16 + dwords * 4 then
    branch:add_proto_expert_info(e.malformed, "The length does not fit the packet")
  elseif dwords > 0 then
    branch:add(f["tlp.payload"], range(16, dwords * 4))
  end
  local line = string.format("%s %s to %s, %s, %d bytes", name, pairs_.source, pairs_.destination, hex(address), bytes)
  branch:set_text("Network packet: " .. line)
  return line
end

-- A TLP or network packet with sequence number and LCRC.
local function framed(range, pinfo, tree, meta, content)
  if range:len() < 10 then
    tree:add_proto_expert_info(e.malformed, "The TLP is cut off")
    return "malformed TLP"
  end
  local sequence = range(0, 2):bitfield(4, 12)
  tree:add(f["tlp.sequence"], range(0, 2), sequence)
  local line = content(range(2, range:len() - 6), pinfo, tree, meta)
  local place = range(range:len() - 4, 4)
  tree:add_le(f["tlp.lcrc"], place)
  local status = 2
  if peerlane.prefs.check_crc then
    local expected = crc(range(0, range:len() - 4), CRC32, U32 - 1)
    local found = place:le_uint()
    status = found == expected and 1 or found == U32 - 1 - expected and 3 or 0
    if status == 0 then
      tree:add_proto_expert_info(e.bad_lcrc, string.format("The LCRC is 0x%08x; it should be 0x%08x", found, expected))
      line = line .. ", bad LCRC"
    end
  end
  tree:add(f["tlp.lcrc_status"], place, status):set_generated()
  return string.format("#%d %s", sequence, line)
end

-- DLLPs -----------------------------------------------------------------------------------------------------------------------

local STAGES = { [0x40] = "InitFC1", [0xc0] = "InitFC2", [0x80] = "UpdateFC" }

local function credits(range, tree, name)
  local word = range(0, 4)
  local class = CLASSES[word:bitfield(2, 2)]
  local scales = { word:bitfield(8, 2), word:bitfield(18, 2) }
  local header, data = word:bitfield(10, 8), word:bitfield(20, 12)
  tree:add(f["dllp.vc"], range(0, 1))
  tree:add(f["dllp.class"], range(0, 1))
  tree:add(f["dllp.hdr_scale"], range(1, 1), scales[1])
  tree:add(f["dllp.hdr_fc"], range(1, 2), header)
  tree:add(f["dllp.data_scale"], range(2, 1), scales[2])
  tree:add(f["dllp.data_fc"], range(2, 2), data)
  -- Only a credit of the initialization is infinite if it is zero; 2.6.1.
  local is_first = name ~= "UpdateFC"
  local texts = {}
  for index, one in ipairs({ { "hdr", header, range(1, 2) }, { "data", data, range(2, 2) } }) do
    local kind, value, place = one[1], one[2], one[3]
    local total = value * SHIFTS[scales[index]]
    tree:add(f["dllp." .. kind .. "_credits"], place, total):set_generated()
    local is_infinite = is_first and value == 0
    if is_infinite then
      tree:add(f["dllp.infinite_" .. kind], place, true):set_generated()
    end
    texts[index] = is_infinite and "infinite" or tostring(total)
  end
  return string.format("%s VC%d %s, headers %s, data %s", name, word:bitfield(5, 3), class, texts[1], texts[2])
end

local function dllp(range, pinfo, tree)
  if range:len() < 6 then
    tree:add_proto_expert_info(e.malformed, "The DLLP is cut off")
    return "malformed DLLP"
  end
  local branch = tree:add(f["dllp"], range)
  local kind = range(0, 1):uint()
  local name, line
  branch:add(f["dllp.raw"], range(0, 6))
  branch:add(f["dllp.type"], range(0, 1))
  if kind == 0x00 or kind == 0x10 then
    name = kind == 0 and "Ack" or "Nak"
    branch:add(f["dllp.sequence"], range(2, 2))
    line = string.format("%s #%d", name, range(2, 2):bitfield(4, 12))
    if kind == 0x10 then
      branch:add_proto_expert_info(e.nak)
    end
  elseif kind == 0x02 then
    name = "Feature"
    branch:add(f["dllp.feature_ack"], range(1, 1))
    branch:add(f["dllp.features"], range(0, 4))
    branch:add(f["dllp.scaled_fc"], range(3, 1))
    line = "Feature" .. (range(3, 1):bitfield(7, 1) == 1 and ", scaled flow control" or "")
      .. (range(1, 1):bitfield(0, 1) == 1 and ", acknowledged" or "")
  elseif STAGES[kind - kind % 64] and range(0, 1):bitfield(4, 1) == 0 and range(0, 1):bitfield(2, 2) < 3 then
    name = STAGES[kind - kind % 64]
    line = credits(range, branch, name)
  else
    name = OTHER_DLLPS[kind] or "other"
    line = name
    if not OTHER_DLLPS[kind] then
      branch:add_proto_expert_info(e.unknown)
    end
  end
  branch:add(f["dllp.name"], range(0, 1), name)
  branch:add_le(f["dllp.crc"], range(4, 2))
  local status = 2
  if peerlane.prefs.check_crc then
    local expected = crc(range(0, 4), CRC16, 0xffff)
    status = range(4, 2):le_uint() == expected and 1 or 0
    if status == 0 then
      branch:add_proto_expert_info(e.bad_crc, string.format("The CRC should be 0x%04x", expected))
      line = line .. ", bad CRC"
    end
  end
  branch:add(f["dllp.crc_status"], range(4, 2), status):set_generated()
  branch:set_text("Data-link-layer packet: " .. line)
  return line
end

-- Ordered sets, fibres --------------------------------------------------------------------------------------------------------

local function ordered_sets(range, pinfo, tree)
  if range:len() < 16 then
    tree:add_proto_expert_info(e.malformed, "The ordered sets are cut off")
    return "malformed ordered sets"
  end
  local branch = tree:add(f["ordered_sets"], range)
  branch:add(f["ordered_sets.type"], range(0, 1))
  branch:add(f["ordered_sets.eds_bytes"], range(1, 1))
  branch:add(f["ordered_sets.bytes"], range(2, 2))
  branch:add(f["ordered_sets.count"], range(4, 4))
  branch:add(f["ordered_sets.interval_fs"], range(8, 8))
  local count = range(4, 4):uint()
  return count == 1 and "SKP" or string.format("%d SKP, one each %s ns", count, tostring(range(8, 8):uint64() / 1000000))
end

local function fibre_frame(range, pinfo, tree, meta)
  local branch = tree:add(f["fibre"], range)
  if range:len() < 20 then
    branch:add_proto_expert_info(e.malformed, "The frame is cut off")
    return "malformed frame"
  end
  local content, inside = range(0, 1):bitfield(0, 4), range(16, range:len() - 20)
  branch:add(f["fibre.content"], range(0, 1))
  branch:add(f["fibre.channel"], range(0, 1))
  branch:add(f["fibre.port"], range(1, 1))
  branch:add(f["fibre.destination"], range(2, 2))
  branch:add(f["fibre.source"], range(4, 2))
  branch:add(f["fibre.length"], range(6, 2))
  branch:add(f["fibre.sequence"], range(8, 2))
  branch:add_le(f["fibre.crc"], range(range:len() - 4, 4))
  local status = 2
  if peerlane.prefs.check_crc then
    local expected = crc(range(0, range:len() - 4), CRC32, U32 - 1)
    status = range(range:len() - 4, 4):le_uint() == expected and 1 or 0
    if status == 0 then
      branch:add_proto_expert_info(e.bad_crc, string.format("The CRC should be 0x%08x", expected))
    end
  end
  branch:add(f["fibre.crc_status"], range(range:len() - 4, 4), status):set_generated()
  local line = string.format("#%d %d to %d.%d", range(8, 2):uint(), range(4, 2):uint(), range(2, 2):uint(), range(1, 1):uint())
  if range(6, 2):uint() ~= inside:len() then
    branch:add_proto_expert_info(e.malformed, "The length does not fit the frame")
  end
  if content == 0 and inside:len() >= 4 then
    -- Requests and completions travel in frames of their own networks, and are matched on links.
    line = line .. ": " .. tlp_content(inside, pinfo, branch, { is_lost = true })
  else
    local address = UInt64(range(12, 4):uint(), range(10, 2):uint())
    branch:add(f["fibre.address"], range(10, 6), address)
    branch:add(f["fibre.payload"], inside)
    line = string.format("%s: %s %s, %d bytes", line, CONTENTS[content] or "unknown", hex(address), inside:len())
  end
  branch:set_text("Fibre frame: " .. line)
  return line
end

local COUNTED = { [1] = true, [2] = true }
local NUMBERED = { [3] = true, [4] = true }

local function control_block(range, pinfo, tree)
  if range:len() < 4 then
    tree:add_proto_expert_info(e.malformed, "The control block is cut off")
    return "malformed control block"
  end
  local branch = tree:add(f["block"], range)
  local kind = range(0, 1):uint()
  branch:add(f["block.type"], range(0, 1))
  local line = BLOCKS[kind] or "unknown block"
  if COUNTED[kind] then
    branch:add(f["block.channel"], range(1, 1))
    branch:add(f["block.cycles"], range(2, 2))
    line = string.format("%s channel %d, %d cycles", line, range(1, 1):uint(), range(2, 2):uint())
  elseif NUMBERED[kind] then
    branch:add(f["block.next"], range(2, 2))
    line = string.format("%s, next #%d", line, range(2, 2):uint())
  end
  branch:set_text("Control block: " .. line)
  return line
end

-- Records ---------------------------------------------------------------------------------------------------------------------

local CONTENT = {
  [KIND.TLP] = function(range, pinfo, tree, meta)
    return framed(range, pinfo, tree, meta, tlp_content)
  end,
  [KIND.NETWORK] = function(range, pinfo, tree, meta)
    return framed(range, pinfo, tree, meta, network_content)
  end,
  [KIND.DLLP] = dllp,
  [KIND.ORDERED_SETS] = ordered_sets,
  [KIND.FIBRE] = fibre_frame,
  [KIND.BLOCK] = control_block,
}
local COLUMN = {
  [KIND.TLP] = "TLP", [KIND.NETWORK] = "TLP", [KIND.DLLP] = "DLLP", [KIND.ORDERED_SETS] = "OS", [KIND.FIBRE] = "Fibre",
  [KIND.BLOCK] = "Fibre",
}
local ACCEPTED = 1
local FIXED = 36

local interface_name = Field.new("frame.interface_name")
local interface_description = Field.new("frame.interface_description")

-- The link and the direction are the interface's name; its description ends with both nodes.
local function names(pinfo, tree)
  local name = interface_name()
  local link, direction = string.match(name and tostring(name.value) or "", "^(.*) (%S+)$")
  if link then
    tree:add(f["link"], link):set_generated()
    tree:add(f["direction"], direction):set_generated()
  end
  local description = interface_description()
  local from, to = string.match(description and tostring(description.value) or "", ", (%S+) to (%S+)$")
  if from then
    pinfo.cols.src = from
    pinfo.cols.dst = to
  end
end

local function pseudo_header(range, tree)
  local branch = tree:add(range, "Pseudo-header")
  branch:add(f["version"], range(0, 1))
  branch:add(f["kind"], range(1, 1))
  branch:add(f["header_length"], range(2, 2))
  local flags = branch:add(f["flags"], range(4, 2))
  for _, flag in ipairs({ "up", "replay", "nullified", "damaged", "arrived" }) do
    flags:add(f[flag], range(4, 2))
  end
  branch:add(f["time_fs"], range(8, 8))
  branch:add(f["length_fs"], range(16, 8))
  if range(4, 2):bitfield(11, 1) == 1 then
    branch:add(f["arrival_fs"], range(24, 8))
    branch:add(f["verdict"], range(32, 1))
    branch:add(f["wrong_bits"], range(6, 2))
  end
  branch:add(f["link_number"], range(34, 2))
  local name_len = range(33, 1):uint()
  if name_len > 0 and FIXED + name_len <= range:len() then
    branch:add(f["flow"], range(FIXED, name_len))
  end
end

-- What the pseudo-header says that the line about the packet should say, too.
local function remarks(range, tree)
  local flags = range(4, 2)
  local found = {}
  if flags:bitfield(14, 1) == 1 then
    tree:add_proto_expert_info(e.replay)
    found[#found + 1] = "replay"
  end
  if flags:bitfield(13, 1) == 1 then
    tree:add_proto_expert_info(e.nullified)
    found[#found + 1] = "nullified"
  end
  if flags:bitfield(12, 1) == 1 then
    local bits = range(6, 2):uint()
    tree:add_proto_expert_info(e.damaged, bits > 0 and string.format("%d bits arrived wrong", bits) or nil)
    found[#found + 1] = "damaged"
  end
  local verdict = range(32, 1):uint()
  if verdict > ACCEPTED then
    tree:add_proto_expert_info(e.rejected, "The receiver: " .. (VERDICTS[verdict] or "unknown"))
    found[#found + 1] = VERDICTS[verdict]
  end
  return #found > 0 and " [" .. table.concat(found, ", ") .. "]" or ""
end

function peerlane.dissector(tvb, pinfo, root)
  if tvb:len() < FIXED or tvb(0, 1):uint() ~= 1 or tvb(2, 2):uint() > tvb:len() or tvb(2, 2):uint() < FIXED then
    return 0
  end
  local kind, header_len = tvb(1, 1):uint(), tvb(2, 2):uint()
  local tree = root:add(peerlane, tvb())
  pinfo.cols.protocol = COLUMN[kind] or "Peerlane"
  names(pinfo, tree)
  pseudo_header(tvb(0, header_len), tree)
  local content = CONTENT[kind]
  if not content or header_len == tvb:len() then
    tree:add_proto_expert_info(e.unknown)
    return tvb:len()
  end
  local meta = {
    -- Without a tree, as in the first of two passes, the name of the link is not known.
    link = tvb(34, 2):uint(),
    fs = tvb(8, 8):uint64(),
    is_lost = tvb(32, 1):uint() > ACCEPTED,
  }
  local line = content(tvb(header_len), pinfo, tree, meta)
  line = line .. remarks(tvb(0, header_len), tree)
  tree:set_text("Peerlane: " .. line)
  pinfo.cols.info = line
  return tvb:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, peerlane)
