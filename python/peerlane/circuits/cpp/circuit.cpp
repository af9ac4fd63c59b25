// Drives one module with the ports of a leaf. Compiled for each circuit, width and copy, which the build gives as CIRCUIT_CLASS, CIRCUIT_HEADER,
// CIRCUIT_NAME and CIRCUIT_MODEL. CIRCUIT_TRACED marks the copy that can write waveforms, which is slower: all its signals have a place in memory.
// CIRCUIT_FLR is there if the circuit has ports for the function-level reset. CIRCUIT_EVALUATE, CIRCUIT_LOADS and CIRCUIT_CLOCKS are there if the
// circuit is sensitive only to rising edges of its two clocks: the function of the generated code that works on edges, and the bits of the edges for
// this function. CIRCUIT_COPIES is the list of copies of this function for cycles with units at rest, if there are any.

#include "circuit.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "verilated.h"
#ifdef CIRCUIT_TRACED
#include "verilated_vcd_c.h"
#endif

#include CIRCUIT_HEADER
#ifdef CIRCUIT_EVALUATE
#include CIRCUIT_ROOT_HEADER

void CIRCUIT_EVALUATE(CIRCUIT_ROOT* root);
#endif
#ifdef CIRCUIT_COPIES
#include "copy.h"

extern const CircuitCopy<CIRCUIT_ROOT> CIRCUIT_COPIES[];
#endif

// The text that the running circuit has printed (`print.cpp`).
std::string& circuit_printed();

namespace {

using Top = CIRCUIT_CLASS;
constexpr size_t WIDTH = sizeof(std::declval<Top>().rx_data_i);
constexpr unsigned RESET_CYCLES = 4;
enum Kind : uint32_t { TAKEN, SENT, INTERRUPT, REQUEST_TAKEN, ERROR };
// Bytes of the header of an error.
constexpr size_t HEADER = 16;

// A TLP that waits for the circuit.
struct Tlp {
    // Filled up to whole beats.
    std::vector<uint8_t> bytes;
    size_t size = 0;
    uint64_t cycle = 0;
    // Its place among all TLPs.
    uint64_t number = 0;
    uint32_t label = 0;
    uint32_t bar = 0;
};

// TLPs in order, in buffers that are used again.
class Queue {
public:
    bool empty() const { return m_count == 0; }
    const Tlp& front() const { return m_slots[m_first]; }
    void clear() { m_count = 0; }

    Tlp& push() {
        if (m_count == m_slots.size()) grow();
        return m_slots[(m_first + m_count++) % m_slots.size()];
    }

    void pop() {
        m_first = (m_first + 1) % m_slots.size();
        --m_count;
    }

private:
    void grow() {
        std::vector<Tlp> slots(2 * m_slots.size());
        for (size_t i = 0; i < m_count; ++i) std::swap(slots[i], m_slots[(m_first + i) % m_slots.size()]);
        m_slots.swap(slots);
        m_first = 0;
    }

    std::vector<Tlp> m_slots = std::vector<Tlp>(16);
    size_t m_first = 0;
    size_t m_count = 0;
};

class Circuit {
public:
    explicit Circuit(uint64_t period_ps) : m_period{period_ps} {
        m_context->fatalOnError(false);
#ifdef CIRCUIT_TRACED
        m_context->traceEverOn(true);
#endif
        m_top = std::make_unique<Top>(m_context.get(), CIRCUIT_NAME);
        // The first evaluation also runs initial blocks.
        m_top->eval();
        reset();
    }

    ~Circuit() {
        close_waves();
        m_top->final();
    }

    void reset() {
        m_waiting.clear();
        m_requests.clear();
        m_front = nullptr;
        m_taken = 0;
        m_is_offered = false;
        m_is_sending = false;
        m_end = m_begin;
        m_top->rx_valid_i = 0;
        m_top->tx_ready_i = 0;
        m_top->irq_ready_i = 1;
        m_top->rst_i = 1;
        load();
        for (unsigned i = 0; i < RESET_CYCLES; ++i) clock();
        m_top->rst_i = 0;
        load();
        m_takes_requests = m_top->rx_np_ok_o;
    }

    void configure(const circuit_settings& settings) {
        m_top->function_id_i = settings.function_id;
        m_top->max_payload_i = settings.max_payload;
        m_top->max_read_request_i = settings.max_read_request;
        m_top->bus_master_i = settings.bus_master;
        m_top->ext_tag_i = settings.ext_tag;
        m_top->flr_i = settings.flr;
        load();
    }

    void push(const uint8_t* bytes, uint64_t size, uint64_t cycle, uint32_t label, uint32_t bar, bool is_non_posted) {
        Tlp& tlp = (is_non_posted ? m_requests : m_waiting).push();
        tlp.bytes.assign(bytes, bytes + size);
        tlp.bytes.resize((size + WIDTH - 1) / WIDTH * WIDTH);
        tlp.size = size;
        tlp.cycle = cycle;
        tlp.number = m_number++;
        tlp.label = label;
        tlp.bar = bar;
    }

    void allow(uint32_t count) { m_allowed = count; }

    uint64_t short_cycles() const { return m_short_cycles; }

    bool is_sending() const { return m_is_sending; }

    bool is_reset_done() const { return m_top->flr_done_o; }

    bool is_active() const { return m_top->active_o || m_taken != 0 || m_is_sending; }

    // The clock stands still while there is nothing to do.
    void run(uint64_t until, circuit_events& into) {
        m_events.clear();
        m_headers.clear();
        // The bytes of a TLP that is not complete are kept.
        memmove(m_sent.data(), m_sent.data() + m_begin, m_end - m_begin);
        m_end -= m_begin;
        m_begin = 0;
        if (m_cycle < until && prepare()) load();
        while (m_cycle < until && !has_stopped()) {
            if (m_top->rx_valid_i || is_active() || next_due() <= m_cycle) {
                step();
            } else {
                m_takes_requests = m_top->rx_np_ok_o;
                m_cycle = std::min(until, next_due());
                if (m_cycle < until && prepare()) load();
            }
        }
        into.first = m_events.data();
        into.count = m_events.size();
        into.bytes = m_sent.data();
        into.size = m_begin;
        into.headers = m_headers.data();
        into.headers_size = m_headers.size();
        into.cycle = m_cycle;
        into.stopped = has_stopped() ? m_printed.c_str() : nullptr;
    }

#ifdef CIRCUIT_TRACED
    void open_waves(const char* path) {
        close_waves();
        m_waves = std::make_unique<VerilatedVcdC>();
        m_top->trace(m_waves.get(), 99);
        m_waves->open(path);
    }

    void close_waves() {
        if (m_waves) m_waves->close();
        m_waves.reset();
    }
#else
    void open_waves(const char*) {}
    void close_waves() {}
#endif

private:
    bool has_stopped() const { return m_context->gotError() || m_context->gotFinish(); }

    // The ports of a cycle have settled: both sides see who is valid and ready, and its rising edge ends it. The inputs of the next
    // cycle change with that edge, as those of a circuit with the same clock, so that the circuit is evaluated once a cycle.
    void step() {
#ifdef CIRCUIT_TRACED
        if (m_waves) dump();
#endif
        if (m_top->err_valid_o) report();
        if (m_top->rx_valid_i && m_top->rx_ready_o) take();
        if (m_top->tx_valid_o && m_top->tx_ready_i) gather();
        if (m_top->irq_valid_o) m_events.push_back({m_cycle, m_cycle, 0, 0, m_top->irq_vector_o, INTERRUPT});
        if (has_stopped()) return;
        m_takes_requests = m_top->rx_np_ok_o;
        ++m_cycle;
        prepare();
        clock();
    }

    // Sets the inputs of the cycle; returns whether they have changed.
    bool prepare() {
        if (!m_front) m_front = next();
        const bool is_due = m_front != nullptr;
        const bool may_send = m_is_sending || m_allowed > 0;
        const bool is_new = is_due && !m_is_offered;
        const bool changes = is_new || is_due != bool(m_top->rx_valid_i) || may_send != bool(m_top->tx_ready_i);
        if (is_new) offer();
        m_top->rx_valid_i = is_due;
        m_top->tx_ready_i = may_send;
        return changes;
    }

    // The queue whose TLP begins in this cycle, if one does: that of the oldest one. A non-posted request begins only if the circuit has said
    // in the cycle before that it takes one; until then the others pass it (PCIe Base 2.4.1).
    Queue* next() {
        const auto is_due = [this](const Queue& queue) { return !queue.empty() && queue.front().cycle <= m_cycle; };
        const bool is_older = m_waiting.empty() || (!m_requests.empty() && m_requests.front().number < m_waiting.front().number);
        if (is_older && is_due(m_requests) && m_takes_requests) return &m_requests;
        return is_due(m_waiting) ? &m_waiting : nullptr;
    }

    // The cycle from which on a TLP waits, while the clock stands still.
    uint64_t next_due() const {
        uint64_t due = UINT64_MAX;
        for (const Queue* queue : {&m_waiting, &m_requests}) {
            if (!queue->empty()) due = std::min(due, queue->front().cycle);
        }
        return due;
    }

    // Offers the next beat of the TLP that has begun.
    void offer() {
        m_is_offered = true;
        const Tlp& tlp = m_front->front();
        const size_t rest = tlp.size - m_taken;
        memcpy(&m_top->rx_data_i, tlp.bytes.data() + m_taken, WIDTH);
        m_top->rx_first_i = m_taken == 0;
        m_top->rx_last_i = rest <= WIDTH;
        m_top->rx_bytes_i = std::min(WIDTH, rest);
        m_top->rx_label_i = tlp.label;
        m_top->rx_bar_i = tlp.bar;
    }

    // The circuit has taken the beat that was offered.
    void take() {
        const Tlp& tlp = m_front->front();
        if (m_taken == 0) m_first_taken = m_cycle;
        m_taken += WIDTH;
        m_is_offered = false;
        if (m_taken < tlp.size) return;
        m_events.push_back({m_first_taken, m_cycle, 0, uint32_t(tlp.size), tlp.label, m_front == &m_requests ? REQUEST_TAKEN : TAKEN});
        m_front->pop();
        m_front = nullptr;
        m_taken = 0;
    }

    // The circuit has reported an error.
    void report() {
        const auto* header = reinterpret_cast<const uint8_t*>(&m_top->err_header_o);
        m_events.push_back({m_cycle, m_cycle, m_headers.size(), HEADER, m_top->err_kind_o, ERROR});
        m_headers.insert(m_headers.end(), header, header + HEADER);
    }

    // The circuit has sent a beat.
    void gather() {
        const size_t size = m_top->tx_bytes_o;
        if (bool(m_top->tx_first_o) == m_is_sending) return stop(m_is_sending ? "tx_first_o within a TLP" : "a TLP without tx_first_o");
        if (size == 0 || size > WIDTH) return stop("tx_bytes_o is no number of bytes of a beat");
        if (!m_top->tx_last_o && size != WIDTH) return stop("a beat before the last one is not full");
        if (!m_is_sending) {
            m_is_sending = true;
            m_first_sent = m_cycle;
            --m_allowed;
        }
        if (m_end + WIDTH > m_sent.size()) m_sent.resize(2 * m_sent.size());
        memcpy(m_sent.data() + m_end, &m_top->tx_data_o, WIDTH);
        m_end += size;
        if (!m_top->tx_last_o) return;
        m_events.push_back({m_first_sent, m_cycle, m_begin, uint32_t(m_end - m_begin), m_top->tx_label_o, SENT});
        m_begin = m_end;
        m_is_sending = false;
    }

    // A rising edge of the clock, with which the inputs change.
    void clock() { rise(true); }

    // Changes the inputs within a cycle.
    void load() { rise(false); }

    // A rising edge of the inputs' clock, and of the circuit's own one with it.
    void rise(bool is_clock) {
#ifdef CIRCUIT_COPIES
        if (is_clock && m_copy->evaluate) {
            ++m_short_cycles;
            if (!m_copy->evaluate(m_top->rootp)) m_copy = fitting();
            if (has_stopped()) keep_print();
            return;
        }
#endif
#ifdef CIRCUIT_EVALUATE
        // Verilator's `eval` looks for edges and takes locks of its threads, twice in each cycle. That is a fifth of all work.
        auto& edges = m_top->rootp->__VnbaTriggered[0];
        edges = is_clock ? CIRCUIT_LOADS | CIRCUIT_CLOCKS : CIRCUIT_LOADS;
        CIRCUIT_EVALUATE(m_top->rootp);
        edges = 0;
#ifdef CIRCUIT_COPIES
        m_copy = fitting();
#endif
#else
        m_top->clk_i = is_clock;
        m_top->load_i = 1;
        m_top->eval();
        m_top->clk_i = 0;
        m_top->load_i = 0;
        m_top->eval();
#endif
        if (has_stopped()) keep_print();
    }

#ifdef CIRCUIT_COPIES
    // The first copy for which all units are at rest, or the end of the list.
    const CircuitCopy<CIRCUIT_ROOT>* fitting() const {
        const auto* copy = CIRCUIT_COPIES;
        while (copy->evaluate && !copy->fits(m_top->rootp)) ++copy;
        return copy;
    }
#endif

#ifdef CIRCUIT_TRACED
    // Writes the settled signals of the cycle to the waveforms: the clock is high in its first half.
    void dump() {
        m_top->clk_i = 1;
        m_waves->dump(m_cycle * m_period);
        m_top->clk_i = 0;
        m_waves->dump(m_cycle * m_period + m_period / 2);
    }
#endif

    // The circuit has broken a rule of its ports.
    void stop(const char* why) {
        m_printed = why;
        m_context->gotError(true);
    }

    void keep_print() {
        if (m_printed.empty()) m_printed.swap(circuit_printed());
    }

    std::unique_ptr<VerilatedContext> m_context = std::make_unique<VerilatedContext>();
    std::unique_ptr<Top> m_top;
#ifdef CIRCUIT_TRACED
    std::unique_ptr<VerilatedVcdC> m_waves;
#endif
#ifdef CIRCUIT_COPIES
    // The copy for the next cycle.
    const CircuitCopy<CIRCUIT_ROOT>* m_copy = nullptr;
#endif
    uint64_t m_short_cycles = 0;
    uint64_t m_period;
    uint64_t m_cycle = 0;
    // Posted TLPs and completions, and non-posted requests.
    Queue m_waiting;
    Queue m_requests;
    // The queue of the TLP that has begun.
    Queue* m_front = nullptr;
    // The circuit has said in the cycle before that a non-posted request may begin.
    bool m_takes_requests = false;
    uint64_t m_number = 0;
    // Bytes of this TLP that the circuit has taken.
    size_t m_taken = 0;
    // The inputs have the beat after these.
    bool m_is_offered = false;
    uint64_t m_first_taken = 0;
    uint32_t m_allowed = 0;
    // The TLP that the circuit is sending.
    bool m_is_sending = false;
    uint64_t m_first_sent = 0;
    std::vector<circuit_event> m_events;
    std::vector<uint8_t> m_headers;
    // The bytes that were sent: TLPs up to `m_begin`, and the one under way up to `m_end`.
    std::vector<uint8_t> m_sent = std::vector<uint8_t>(1024);
    size_t m_begin = 0;
    size_t m_end = 0;
    std::string m_printed;
};

Circuit& of(void* circuit) { return *static_cast<Circuit*>(circuit); }

}  // namespace

extern "C" const circuit_model CIRCUIT_MODEL = {
    .name = CIRCUIT_NAME,
    .width = WIDTH,
#ifdef CIRCUIT_TRACED
    .is_traced = true,
#else
    .is_traced = false,
#endif
#ifdef CIRCUIT_FLR
    .resets_function = true,
#else
    .resets_function = false,
#endif
    .create = [](uint64_t period_ps) -> void* { return new Circuit(period_ps); },
    .destroy = [](void* circuit) { delete &of(circuit); },
    .reset = [](void* circuit) { of(circuit).reset(); },
    .configure = [](void* circuit, const circuit_settings* settings) { of(circuit).configure(*settings); },
    .push = [](void* circuit, const uint8_t* bytes, uint64_t size, uint64_t cycle,
               uint32_t label, uint32_t bar, bool is_non_posted) { of(circuit).push(bytes, size, cycle, label, bar, is_non_posted); },
    .allow = [](void* circuit, uint32_t count) { of(circuit).allow(count); },
    .run = [](void* circuit, uint64_t until, circuit_events* into) { of(circuit).run(until, *into); },
    .is_sending = [](const void* circuit) { return static_cast<const Circuit*>(circuit)->is_sending(); },
    .is_active = [](const void* circuit) { return static_cast<const Circuit*>(circuit)->is_active(); },
    .is_reset_done = [](const void* circuit) { return static_cast<const Circuit*>(circuit)->is_reset_done(); },
    .short_cycles = [](const void* circuit) { return static_cast<const Circuit*>(circuit)->short_cycles(); },
    .open_waves = [](void* circuit, const char* path) { of(circuit).open_waves(path); },
    .close_waves = [](void* circuit) { of(circuit).close_waves(); },
};
