//! The initialisation of a link's flow control: features, InitFC DLLPs, and channels that software enables (PCIe Base 3.3, 3.4.1).

use packet::Observation;
use protocol::{ChannelsControl, ConfigSpace, Credit, FunctionId, TrafficClass};

use super::{EndContext, INIT_FC_INTERVAL, LinkEnd};
use crate::LinkTimer;
use crate::channels::ChannelMap;
use crate::handshake::{FeatureEffect, InitFcEffect};
use crate::ltssm::LinkChange;
use crate::transmitter::Finished;

impl LinkEnd {
    /// Whether every traffic class maps to a channel.
    pub fn maps_all_classes(&self) -> bool {
        self.map.is_complete()
    }

    /// Whether software has enabled channels besides VC0.
    pub fn has_channels(&self) -> bool {
        self.enabled > 1
    }

    /// Whether a traffic class maps to a channel.
    pub fn maps(&self, class: TrafficClass) -> bool {
        self.channel_of(class) < self.receiver.channels.len()
    }

    /// Applies the configuration registers `space` of the function `port`. If `adds_digest`, the function adds a TLP digest to the messages
    /// by which it refuses L1.
    pub fn apply_registers(&mut self, space: &ConfigSpace, port: FunctionId, adds_digest: bool) {
        if let Some(channels) = space.channels_control() {
            self.configure_channels(&channels);
        }
        self.set_max_payload(space.max_payload());
        self.ltssm.set_target(space.target_link_speed());
        self.enable_l0s(space.enables_l0s());
        self.enable_l1(space.enables_l1(), port, adds_digest);
    }

    /// Applies the control registers of the port's virtual channels. A channel that the registers enable is initialised when the link comes
    /// up. If the link is already up, the caller must call [`initialize_channels`](Self::initialize_channels).
    fn configure_channels(&mut self, control: &ChannelsControl) {
        let ids = (1..).zip(&control.channels[1..]);
        let enabled = ids.fold(0, |enabled, (id, channel)| {
            enabled | u8::from(channel.is_some()) << id
        });
        for id in (1..8).filter(|id| (enabled ^ self.enabled) >> id & 1 != 0) {
            let is_enabled = enabled >> id & 1 != 0;
            self.receiver.set_channel(id, is_enabled);
            self.transmitter.close_channel(id);
        }
        self.enabled = enabled;
        self.transmitter.arbitrate(control);
        let map = ChannelMap::of(control);
        if map != self.map {
            self.map = map;
            self.transmitter.remap(&map);
        }
    }

    /// Acts on control registers that were written: begins the initialisation of newly enabled channels, if the link is up, and the wait for
    /// L1.
    pub fn initialize_channels(&mut self, cx: &mut impl EndContext) -> Option<Finished> {
        self.watch_idle_time(cx);
        if !self.is_up() || self.has_failed(cx.now()) {
            return None;
        }
        if self.handshake.enable(self.enabled) {
            self.set(
                LinkTimer::InitializeChannels,
                cx.now() + INIT_FC_INTERVAL,
                cx,
            );
        }
        self.pump(cx)
    }

    /// The enabled channels whose flow control is not initialised, as bits by VC ID: VC Negotiation Pending.
    pub fn channels_pending(&self) -> u8 {
        self.handshake.pending()
    }

    pub(super) fn exchange_features(&mut self, effect: FeatureEffect, cx: &mut impl EndContext) {
        match effect {
            FeatureEffect::Exchanged { is_scaled } => {
                self.receiver.fix_limits(is_scaled);
                self.begin_round(cx);
            }
            FeatureEffect::Acknowledge => self.begin_round(cx),
            FeatureEffect::Nothing => {}
        }
    }

    /// Starts a round of the DLLPs that announce features or limits.
    pub(super) fn begin_round(&mut self, cx: &mut impl EndContext) {
        self.handshake.begin_round();
        self.set(LinkTimer::UpdateCredit, cx.now() + INIT_FC_INTERVAL, cx);
    }

    /// Starts one more round of InitFC DLLPs for the channels whose initialisation is not complete.
    pub(super) fn begin_round_of_channels(&mut self, cx: &mut impl EndContext) {
        if self.handshake.begin_round_of_others() {
            let next = cx.now() + INIT_FC_INTERVAL;
            self.set(LinkTimer::InitializeChannels, next, cx);
        }
    }

    pub(super) fn come_up(&mut self, cx: &mut impl EndContext) {
        if !std::mem::replace(&mut self.has_been_up, true) {
            cx.observe(Observation::Up { port: cx.port() });
        }
        if self.ltssm.activate() {
            self.tell(LinkChange::Up, cx);
        }
        self.update_alarm.clear();
        self.refresh_credit(cx);
        if self.handshake.enable(self.enabled) {
            self.begin_round_of_channels(cx);
        }
    }

    /// Handles an InitFC DLLP of a channel that software enables.
    pub(super) fn receive_channel_init_fc(
        &mut self,
        credit: &Credit,
        second: bool,
        cx: &mut impl EndContext,
    ) {
        let is_done = self.handshake.receive_of_others(credit, second);
        if self.handshake.receives(credit.channel) {
            self.receiver.open_channel(credit.channel.into());
        }
        if is_done {
            self.open_channel(credit.channel, cx);
        }
    }

    /// Handles an UpdateFC of a channel besides VC0. Returns whether the channel is initialised. If it is not, the credits of the UpdateFC
    /// are out of date.
    pub(super) fn receive_channel_update(
        &mut self,
        credit: &Credit,
        cx: &mut impl EndContext,
    ) -> bool {
        if self.handshake.covers(credit.channel) {
            return true;
        }
        if self.handshake.receive_update(credit.channel) {
            self.open_channel(credit.channel, cx);
        }
        self.handshake.is_channel_done(credit.channel)
    }

    /// Enables the transmission of TLPs by a channel whose initialisation is complete.
    fn open_channel(&mut self, channel: u8, cx: &mut impl EndContext) {
        for credit in self.handshake.limits_of(channel) {
            self.transmitter.open(credit);
        }
        self.refresh_credit(cx);
    }

    pub(super) fn receive_init_fc(
        &mut self,
        credit: &Credit,
        second: bool,
        cx: &mut impl EndContext,
    ) {
        let effect = self.handshake.end_features();
        self.exchange_features(effect, cx);
        if !self.handshake.covers(credit.channel) {
            return self.receive_channel_init_fc(credit, second, cx);
        }
        match self.handshake.receive(credit, second) {
            InitFcEffect::Limit => self.transmitter.open(credit),
            InitFcEffect::LastLimit => {
                self.transmitter.open(credit);
                self.begin_round(cx);
            }
            InitFcEffect::Done => self.come_up(cx),
            InitFcEffect::Nothing => {}
        }
    }
}
