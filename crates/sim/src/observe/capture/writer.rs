//! A thread that writes the blocks of a capture while the simulation goes on.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::destination::{Block, Destination};

/// The thread, and the ways to it and back.
#[derive(Debug)]
pub struct Writer {
    full: SyncSender<Block>,
    /// Blocks that have been written, to be filled again. A mutex that nobody locks, because a simulation must be `Sync`.
    empty: Mutex<Receiver<Block>>,
    failed: Arc<AtomicBool>,
    thread: JoinHandle<Destination>,
}

/// The blocks that may wait for the file before the simulation waits.
const WAITING: usize = 4;

impl Writer {
    /// Starts the thread, which owns `destination` until it ends. Gives it back if the machine allows no further thread.
    pub fn start(destination: Destination) -> Result<Self, Destination> {
        let (full, blocks) = mpsc::sync_channel(WAITING);
        let (written, empty) = mpsc::channel();
        let failed = Arc::new(AtomicBool::new(false));
        let has_failed = Arc::clone(&failed);
        // The destination follows when there is a thread to take it.
        let (give, take) = mpsc::sync_channel(1);
        let body = move || {
            let destination = take
                .recv()
                .expect("a writer gets its file when it has started");
            write(destination, &blocks, &written, &has_failed)
        };
        match thread::Builder::new().name("capture".into()).spawn(body) {
            Ok(thread) => {
                give.send(destination)
                    .expect("a new writer waits for its file");
                Ok(Writer {
                    full,
                    empty: Mutex::new(empty),
                    failed,
                    thread,
                })
            }
            Err(_) => Err(destination),
        }
    }

    /// Hands on a block, and returns an empty one.
    pub fn exchange(&mut self, block: Block) -> Block {
        self.full.send(block).expect("a writer takes all blocks");
        let empty = self.empty.get_mut().unwrap_or_else(PoisonError::into_inner);
        empty.try_recv().unwrap_or_default()
    }

    /// Whether the file has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Waits until all blocks are written, and returns the file.
    pub fn finish(self) -> Destination {
        drop(self.full);
        let outcome = self.thread.join();
        outcome.unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    }
}

/// Appends all blocks to `destination`, and returns it.
fn write(
    mut destination: Destination,
    blocks: &Receiver<Block>,
    written: &Sender<Block>,
    has_failed: &AtomicBool,
) -> Destination {
    for mut block in blocks {
        destination.append(&block);
        has_failed.store(destination.has_failed(), Ordering::Relaxed);
        block.clear();
        // At the end nobody fills blocks any more.
        let _ = written.send(block);
    }
    destination
}
