//! Address spaces.

use crate::abi::record::CpuMode;
use crate::abi::sample::callchain::Context;

/// The address space of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Not recorded.
    Unknown,
    /// Kernel of the host.
    Kernel,
    /// User space of the host.
    User,
    /// Hypervisor.
    Hypervisor,
    /// Kernel of a guest.
    GuestKernel,
    /// User space of a guest.
    GuestUser,
}

impl Space {
    /// Whether it is that of a kernel or a hypervisor.
    pub fn is_kernel(self) -> bool {
        matches!(self, Self::Kernel | Self::GuestKernel | Self::Hypervisor)
    }

    /// The marker of its addresses in a call chain.
    pub fn context(self) -> Option<Context> {
        match self {
            Self::Unknown => None,
            Self::Kernel => Some(Context::KERNEL),
            Self::User => Some(Context::USER),
            Self::Hypervisor => Some(Context::HV),
            Self::GuestKernel => Some(Context::GUEST_KERNEL),
            Self::GuestUser => Some(Context::GUEST_USER),
        }
    }
}

impl From<CpuMode> for Space {
    fn from(mode: CpuMode) -> Self {
        match mode {
            CpuMode::KERNEL => Self::Kernel,
            CpuMode::USER => Self::User,
            CpuMode::HYPERVISOR => Self::Hypervisor,
            CpuMode::GUEST_KERNEL => Self::GuestKernel,
            CpuMode::GUEST_USER => Self::GuestUser,
            _ => Self::Unknown,
        }
    }
}

impl From<Context> for Space {
    fn from(context: Context) -> Self {
        context.cpu_mode().map_or(Self::Unknown, Self::from)
    }
}
