//! A device model that does, at a write to its only register, what no model should do.

use peerlane_device::{
    Access, Answer, Bar, Declare, Description, Failure, Misuse, Model, Parameter, Setting,
    Settings, Shell, Ticket,
};

const PANIC: u8 = 1;
const READ_BEYOND: u8 = 2;
const WRITE_BEYOND: u8 = 3;
const FOREIGN_TICKET: u8 = 4;
const ENDLESS: u8 = 5;
const FLOOD: u8 = 6;
const NO_VECTOR: u8 = 7;

/// The last outcome: what the shell said of a request, or how it ended.
struct Nonsense {
    outcome: u32,
}

fn number(said: Result<(), Misuse>) -> u32 {
    said.map_or_else(|misuse| 1 + misuse as u32, |()| 0)
}

impl Model for Nonsense {
    fn reset(&mut self, _: u8, _: &mut Shell<'_>) {
        self.outcome = u32::MAX;
    }

    fn read(&mut self, access: Access, into: &mut [u8], _: &mut Shell<'_>) -> Answer {
        match access.offset {
            0..4 => {
                access.fill(into, 0, &self.outcome.to_le_bytes());
                Answer::Now
            }
            // It never answers.
            8..16 => Answer::Later,
            16..24 => Answer::Abort,
            _ => Answer::Unsupported,
        }
    }

    fn write(&mut self, _: Access, bytes: &[u8], shell: &mut Shell<'_>) {
        match bytes[0] {
            PANIC => panic!("the flux capacitor is empty"),
            READ_BEYOND => self.outcome = number(shell.read(1, 1 << 60, 64)),
            WRITE_BEYOND => self.outcome = number(shell.write(u64::MAX - 1, &[0; 64])),
            FOREIGN_TICKET => self.outcome = number(shell.answer(Ticket(77), &[0; 4])),
            ENDLESS => self.expired(0, shell),
            FLOOD => {
                while shell.write(0x1000, &[0; 64]).is_ok() {}
                self.outcome = number(shell.write(0x1000, &[0; 64]));
            }
            NO_VECTOR => self.outcome = number(shell.interrupt(5)),
            _ => {}
        }
    }

    fn completed(&mut self, _: u64, outcome: Result<&[u8], Failure>, _: &mut Shell<'_>) {
        self.outcome = outcome.map_or_else(|failure| 100 + failure as u32, |_| 0);
    }

    fn expired(&mut self, timer: u64, shell: &mut Shell<'_>) {
        let _ = shell.wake_after(timer, 0);
    }
}

impl Declare for Nonsense {
    fn description() -> Description {
        Description {
            help: "Does what no model should do.".to_owned(),
            bars: vec![Bar::new(0, 4096)],
            vectors: 1,
            parameters: vec![Parameter::new(
                "fragile",
                Setting::Flag(false),
                "Whether it cannot even be made.",
            )],
            ..Description::default()
        }
    }

    fn new(settings: &Settings) -> Self {
        assert!(!settings.flag("fragile"), "it broke in transit");
        Nonsense { outcome: 0 }
    }
}

peerlane_device::export_model!(Nonsense);
