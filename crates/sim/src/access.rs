//! Why an access from outside could not be made.

use thiserror::Error;

/// Why an access from outside could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// No node has that name.
    #[error("there is no node {0:?} in this scenario")]
    NoSuchNode(String),
    /// Switches and reflectors make no requests.
    #[error("{0} makes no requests of its own; name a host or a dma device")]
    NoRequester(String),
    /// Switches hold no bytes.
    #[error("{0} has no memory")]
    NoMemory(String),
    /// The range is not within the node's memory or BAR.
    #[error(
        "{name} holds {base:#x} to {last:#x}, which {address:#x} with {len} bytes is not within"
    )]
    Outside {
        /// The node.
        name: String,
        /// Its first address.
        base: u64,
        /// Its last address.
        last: u64,
        /// What was asked for.
        address: u64,
        /// How many bytes were.
        len: u64,
    },
    /// A host's own memory is not across the fabric.
    #[error(
        "{0} holds {1:#x} itself; look at its memory, or fill it, instead of asking the fabric"
    )]
    OwnMemory(String, u64),
    /// More than a read may ask for.
    #[error("{0} bytes are too many for one read; ask for 1 GiB at most")]
    TooLong(u64),
    /// Only some devices have queue pairs.
    #[error("{0} is no network interface controller; name a device with model = \"nic\"")]
    NoNic(String),
    /// Loads and stores reach only who shares a controller.
    #[error(
        "{0} does not reach {1} by loads and stores; join both by network interface controllers (nic) of one controller or of joined ones"
    )]
    NoWindow(String, String),
    /// Fewer functions than that.
    #[error("{0} has no function {1}; write a larger virtual_functions for it")]
    NoFunction(String, u8),
    /// Workloads and ranks have all functions.
    #[error(
        "no function of {0} is left: workloads of the scenario or other ranks use them; write a larger virtual_functions for it, or fewer flows"
    )]
    NoFunctionLeft(String),
    /// Packets between two controllers go over cables only.
    #[error(
        "no cables lead from the controller of {0} to that of {1}; write [[cables]] between them"
    )]
    NoWay(String, String),
    /// The memory of a host is given out.
    #[error("{0} has no {1} bytes of memory left together; write a larger memory for it")]
    NoRoom(String, u64),
    /// Only hosts have processors.
    #[error("{0} has no processor; name a host")]
    NoProcessor(String),
    /// Not one, two or four aligned bytes of a configuration space.
    #[error("{1} bytes at {0:#x} are no register; ask for 1, 2 or 4 aligned bytes below 0x1000")]
    NoRegister(u64, u64),
    /// Nothing was asked for.
    #[error("an access moves at least one byte")]
    Empty,
    /// The fabric answered with an error.
    #[error("unsupported request: nobody answers at {0:#x}")]
    UnsupportedRequest(u64),
    /// No completion came in time, or nothing was left to happen.
    #[error("no answer came from {0:#x} in time")]
    NoAnswer(u64),
}
