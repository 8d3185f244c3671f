use std::time::Duration;

use super::{Drafting, Offer, Round, Speculation, Speculator, Work};
use crate::TokenId;
use crate::draft::Source;
use crate::draw::splitmix64;

/// A device whose rounds take what a formula says, and sequences whose tokens are known beforehand.
struct Simulation {
    /// Seconds of a pipelined plain round.
    plain_s: f64,
    /// What a round that waits takes in addition, relative to a plain one.
    bubble: f64,
    /// What a draft takes in addition, relative to a plain round.
    slope: f64,
    /// Most that a round takes longer or shorter by chance.
    noise: f64,
    /// What each sequence will say, after its prompt.
    texts: Vec<Vec<TokenId>>,
    n_prompt: usize,
    /// Whether the backend has a drafter, and how many of 100 of its drafts are right.
    drafter_percent: Option<u64>,
}

/// What a simulation came to.
#[derive(Debug)]
struct Outcome {
    /// Time of plain rounds over time taken.
    speed: f64,
    tokens_per_round: f64,
    acceptance: f64,
}

impl Default for Simulation {
    fn default() -> Self {
        Self {
            plain_s: 0.02,
            bubble: 0.08,
            slope: 0.05,
            noise: 0.1,
            texts: Vec::new(),
            n_prompt: 50,
            drafter_percent: None,
        }
    }
}

struct Run<'a> {
    simulation: &'a Simulation,
    speculator: Speculator,
    drafting: Vec<Drafting>,
    n_known: Vec<usize>,
    took_s: f64,
    /// Time without speculation, and rounds.
    plain_s: f64,
    n_rounds: usize,
}

impl Simulation {
    fn run(&self) -> Outcome {
        let drafting = self.texts.iter().map(|_| Drafting::new(&[], self.n_prompt)).collect();
        let n_known = vec![self.n_prompt; self.texts.len()];
        let speculator = Speculator::new(Speculation::Auto);
        let mut run = Run { simulation: self, speculator, drafting, n_known, took_s: 0.0, plain_s: 0.0, n_rounds: 0 };
        while !run.is_over() {
            run.turn();
        }
        let counts = run.speculator.counts();
        Outcome {
            speed: run.plain_s / run.took_s,
            tokens_per_round: run.n_known.iter().map(|n| n - self.n_prompt).sum::<usize>() as f64
                / run.n_rounds as f64
                / self.texts.len() as f64,
            acceptance: counts.n_accepted as f64 / counts.n_drafted as f64,
        }
    }
}

impl Run<'_> {
    /// Whether a sequence has nearly said all it will.
    fn is_over(&self) -> bool {
        self.n_known.iter().zip(&self.simulation.texts).any(|(n_known, text)| n_known + 40 > text.len())
    }

    /// Plain rounds in flight until drafts are worth waiting for; then rounds that wait, while they have drafts.
    fn turn(&mut self) {
        self.submit_plain();
        let is_pending = self.speculator.in_flight.len() == 1;
        if !is_pending {
            self.collect(vec![1; self.n_known.len()], 0.0);
        }
        if self.choose(1).is_none() {
            return;
        }
        self.speculator.waits();
        self.collect(vec![1; self.n_known.len()], 0.0);
        while let Some((drafts, source)) = self.choose(0) {
            if drafts.iter().sum::<usize>() == 0 {
                return;
            }
            self.verify(&drafts, source);
            if self.is_over() {
                return;
            }
        }
    }

    fn choose(&mut self, n_pending: usize) -> Option<(Vec<usize>, Source)> {
        let mut offers: Vec<Offer> = Vec::new();
        let mut indexes = Vec::new();
        for (idx, drafting) in self.drafting.iter_mut().enumerate() {
            drafting.look(&self.simulation.texts[idx][..self.n_known[idx]]);
            let lookup = drafting.offer_lookup(self.speculator.model(), n_pending, 16);
            let has_backend = self.simulation.drafter_percent.is_some();
            let backend = drafting.offer_backend(self.speculator.model(), 6).filter(|_| has_backend);
            let offer = [lookup, backend].into_iter().flatten().max_by(|a, b| a.survival[0].total_cmp(&b.survival[0]));
            if let Some(offer) = offer {
                offers.push(offer);
                indexes.push(idx);
            }
        }
        let chosen = self.speculator.choose(self.n_known.len(), &offers, 64)?;
        let mut n_drafts = vec![0; self.n_known.len()];
        indexes.iter().zip(&chosen).for_each(|(idx, n)| n_drafts[*idx] = *n);
        let is_free = offers.iter().all(|offer| offer.source == Source::Lookup);
        Some((n_drafts, if is_free { Source::Lookup } else { Source::Backend }))
    }

    fn submit_plain(&mut self) {
        let round = Round {
            n_rows: self.n_known.len(),
            n_drafts: 0,
            source: Source::Lookup,
            work: Work::Decode,
            is_overlapped: !self.speculator.in_flight.is_empty(),
        };
        self.speculator.planned(round);
    }

    fn verify(&mut self, n_drafts: &[usize], source: Source) {
        let n_all: usize = n_drafts.iter().sum();
        let round = Round { n_rows: n_drafts.len(), n_drafts: n_all, source, work: Work::Decode, is_overlapped: false };
        self.speculator.planned(round);
        let n_right: Vec<usize> = (0..n_drafts.len()).map(|idx| self.n_right(idx, n_drafts[idx], source)).collect();
        for (idx, (n_drafts, n_right)) in n_drafts.iter().zip(&n_right).enumerate().filter(|(_, (n, _))| **n > 0) {
            self.speculator.verified(*n_drafts, *n_right);
            self.drafting[idx].verified(self.speculator.model(), source, *n_right, *n_drafts);
        }
        let slope = self.simulation.slope * if source == Source::Backend { 5.0 } else { 1.0 };
        self.collect(n_right.iter().map(|n| n + 1).collect(), slope * n_all as f64);
    }

    /// How many of a sequence's drafts are right.
    fn n_right(&self, idx: usize, n_drafts: usize, source: Source) -> usize {
        let ahead = &self.simulation.texts[idx][self.n_known[idx]..];
        match (source, self.simulation.drafter_percent) {
            (Source::Backend, Some(percent)) => {
                let is_right = |place: &usize| splitmix64((self.n_rounds * 100 + place) as u64) % 100 < percent;
                (0..n_drafts).take_while(is_right).count()
            }
            _ => self.drafting[idx].lookup_tokens()[..n_drafts].iter().zip(ahead).take_while(|(a, b)| a == b).count(),
        }
    }

    fn collect(&mut self, n_tokens: Vec<usize>, more: f64) {
        let Simulation { plain_s, bubble, noise, .. } = *self.simulation;
        let round = self.speculator.in_flight[0];
        let chance = splitmix64(self.n_rounds as u64 ^ 77) as f64 / u64::MAX as f64 * 2.0 - 1.0;
        let waited = if round.is_overlapped { 0.0 } else { bubble };
        let took_s = plain_s * (1.0 + waited + more) * (1.0 + noise * chance);
        self.took_s += took_s;
        self.n_rounds += 1;
        let n_all: usize = n_tokens.iter().sum();
        self.plain_s += plain_s * n_all as f64 / n_tokens.len() as f64;
        self.speculator.collected(n_all);
        self.speculator.took(Duration::from_secs_f64(took_s));
        for (idx, n) in n_tokens.into_iter().enumerate() {
            let came = self.n_known[idx]..self.n_known[idx] + n;
            if round.n_drafts == 0 {
                self.drafting[idx].came(self.speculator.model(), &self.simulation.texts[idx][came.clone()]);
            }
            self.n_known[idx] = came.end;
        }
    }
}

/// Tokens by chance, `n_vocab` of them.
fn noise(seed: u64, n: usize, n_vocab: u64) -> Vec<TokenId> {
    (0..n as u64).map(|at| (splitmix64(splitmix64(seed) ^ at) % n_vocab) as TokenId).collect()
}

/// A text of `n` tokens and a copy of it in which every `n_run`-th token is another.
fn rewrite(seed: u64, n: usize, n_run: usize) -> Vec<TokenId> {
    let text = noise(seed, n, 300);
    let copy = text.iter().enumerate().map(|(at, token)| if at % n_run == n_run - 1 { 301 } else { *token });
    [text.clone(), copy.collect(), vec![0; 40]].concat()
}

#[test]
fn a_rewritten_text_takes_few_rounds() {
    let simulation = Simulation { texts: vec![rewrite(1, 600, 200)], n_prompt: 600, ..Simulation::default() };
    let outcome = simulation.run();
    assert!(outcome.tokens_per_round > 5.0 && outcome.speed > 3.0, "{outcome:?}");
    assert!(outcome.acceptance > 0.8, "{outcome:?}");
}

#[test]
fn output_without_repetition_is_as_fast_as_without_drafts() {
    for n_vocab in [4, 12, 60, 1000] {
        for (bubble, slope) in [(0.0, 0.02), (0.1, 0.1), (0.3, 0.5), (1.0, 1.0)] {
            for n_rows in [1, 4] {
                let texts = (0..n_rows).map(|row| noise(row, 3000, n_vocab)).collect();
                let simulation = Simulation { bubble, slope, texts, ..Simulation::default() };
                let outcome = simulation.run();
                assert!(outcome.speed > 0.97, "{n_vocab} tokens, {bubble} + {slope} n, {n_rows} rows: {outcome:?}");
            }
        }
    }
}

#[test]
fn texts_that_mislead_lose_little() {
    // Repeats that break off after a few tokens, just when drafts are trusted.
    for n_run in [3, 4, 6, 9, 14] {
        let source = noise(9, 4000, 200);
        let runs = (0..4000 / n_run).flat_map(|run| {
            let from = splitmix64(run as u64) as usize % 3900;
            source[from..from + n_run].to_vec()
        });
        let texts = vec![[source.clone(), runs.collect(), vec![0; 40]].concat()];
        for (bubble, slope) in [(0.05, 0.02), (0.1, 0.2), (0.5, 0.5)] {
            let simulation =
                Simulation { texts: texts.clone(), n_prompt: 4000, bubble, slope, ..Simulation::default() };
            let outcome = simulation.run();
            assert!(outcome.speed > 0.97, "runs of {n_run}, {bubble} + {slope} n: {outcome:?}");
        }
    }
}

#[test]
fn drafts_go_on_in_a_batch_while_they_pay() {
    let texts = |n_noise: u64| {
        (0..4)
            .map(|row| if row < n_noise { noise(row, 1240, 5000) } else { rewrite(row, 600, 100) })
            .collect::<Vec<_>>()
    };
    let speed = |texts: Vec<Vec<TokenId>>, slope: f64| {
        Simulation { texts, slope, n_prompt: 600, ..Simulation::default() }.run().speed
    };
    assert!(speed(texts(0), 0.02) > 2.5, "all repeat");
    assert!(speed(texts(3), 0.02) > 1.2, "one repeats");
    assert!(speed(texts(0), 0.3) > 0.97, "each draft costs a row");
    assert!(speed(texts(4), 0.02) > 0.97, "none repeats");
}

#[test]
fn a_backend_drafter_is_used_while_it_pays() {
    let run = |percent: u64, slope: f64| {
        let texts = vec![noise(5, 4000, 5000)];
        Simulation { texts, slope, drafter_percent: Some(percent), ..Simulation::default() }.run()
    };
    let good = run(85, 0.02);
    assert!(good.speed > 1.5 && good.acceptance > 0.5, "{good:?}");
    for (percent, slope) in [(0, 0.02), (10, 0.1), (30, 0.1), (50, 0.3), (85, 0.5)] {
        let bad = run(percent, slope);
        assert!(bad.speed > 0.97, "{percent} percent right at {slope}: {bad:?}");
    }
}

#[test]
fn modes_use_their_source_only() {
    use Source::{Backend, Lookup};
    let cases = [
        (Speculation::Auto, [true, true]),
        (Speculation::Off, [false, false]),
        (Speculation::Lookup, [true, false]),
        (Speculation::Model, [false, true]),
    ];
    for (mode, expected) in cases {
        assert_eq!([Lookup, Backend].map(|source| Speculator::new(mode).uses(source)), expected, "{mode:?}");
    }
}
