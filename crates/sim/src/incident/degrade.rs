//! Lanes and rates of a link that fail, and that later work again: the link trains with the lanes and rates that still work (PCIe Base 4.2.6.4).

use link::{LinkCommand, Offer};
use protocol::lanes_exist;

use super::{Incident, Place, Scene, Wrong};
use crate::scenario::{Lanes, Speed};

kernel::parameters! {
    /// Keys of a link that degrades.
    pub struct Degrade {
        /// The number of lanes that still work; none for all lanes of the link.
        lanes: Option<Lanes> = None, from "our choice: all";
        /// The highest rate that still works, as a generation or as a speed; none for the highest rate of the link.
        generation: Option<Speed> = None, from "our choice: all";
    }
}

impl Incident for Degrade {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        let link = place.upstream_link()?;
        if self.lanes.is_none() && self.generation.is_none() {
            let advice = "write lanes, generation, or both, of what still works";
            return Err(("lanes", format!("nothing of {} fails; {advice}", link.id)));
        }
        let (Speed(rate), Lanes(width)) = (link.parameters.generation, link.parameters.lanes);
        if let Some(Lanes(lanes)) = self.lanes
            && lanes >= width
        {
            let widths: Vec<u8> = (1..width).filter(|n| lanes_exist(*n)).collect();
            let message = format!(
                "{} cannot degrade to {lanes} lanes, because it has {}; {}",
                link.id,
                width,
                choice(&widths, "lanes", "generation")
            );
            return Err(("lanes", message));
        }
        if let Some(Speed(generation)) = self.generation
            && generation >= rate
        {
            let below: Vec<u8> = (1..rate.number()).collect();
            let message = format!(
                "{} cannot degrade to {} GT/s, because its rate is {} GT/s; {}",
                link.id,
                generation.gigatransfers(),
                rate.gigatransfers(),
                choice(&below, "generation", "lanes")
            );
            return Err(("generation", message));
        }
        Ok(())
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        let Some(link) = scene.plan.nodes[node].upstream else {
            return;
        };
        let now = &scene.plan.links[link].parameters;
        let limit = Offer {
            generation: self.generation.unwrap_or(now.generation).0,
            lanes: self.lanes.unwrap_or(now.lanes).0,
        };
        scene.command_upper_end(link, LinkCommand::Limit(limit));
    }
}

/// The advice about the value of `key`: the `possible` values, or the use of the key `other` if no value is possible.
fn choice(possible: &[u8], key: &str, other: &str) -> String {
    match possible {
        [] => format!("leave {key} out and write {other}"),
        [only] => format!("write {only}"),
        [all @ .., last] => {
            let all: Vec<String> = all.iter().map(u8::to_string).collect();
            format!("write {} or {last}", all.join(", "))
        }
    }
}

kernel::parameters! {
    /// The restoration of all lanes and rates of a link. It has no keys.
    pub struct Restore {}
}

impl Incident for Restore {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        place.upstream_link().map(drop)
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        if let Some(link) = scene.plan.nodes[node].upstream {
            scene.command_upper_end(link, LinkCommand::Restore);
        }
    }
}
