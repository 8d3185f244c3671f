//! Code blocks in Markdown: what stands in one is quoted.

/// Follows the text, and tells whether it stands in a code block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fence {
    pub is_open: bool,
    /// Whether only spaces stand before on this line.
    at_line_start: bool,
    n_ticks: usize,
}

impl Default for Fence {
    fn default() -> Self {
        Self { is_open: false, at_line_start: true, n_ticks: 0 }
    }
}

impl Fence {
    pub fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                b'\n' => (self.at_line_start, self.n_ticks) = (true, 0),
                b'`' if self.at_line_start => {
                    self.n_ticks += 1;
                    if self.n_ticks == 3 {
                        self.is_open = !self.is_open;
                        self.at_line_start = false;
                    }
                }
                b' ' if self.n_ticks == 0 => {}
                _ => self.at_line_start = false,
            }
        }
    }
}
