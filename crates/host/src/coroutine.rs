//! Programs as coroutines: sequential code that suspends at each request until it gets the answer.
//!
//! A program is an `async` function that communicates only through its [`Desk`]. The compiler turns it into a state machine. The
//! caller that runs it decides what requests mean and when they are answered. There is no clock, thread or executor.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A program with requests of type `Ask`, answers of type `Answer`, and a result of type `Output`.
pub struct Coroutine<Ask, Answer, Output> {
    /// The program. The mutex is never contended; it only makes the type usable in structures that threads share.
    program: Mutex<Pin<Box<dyn Future<Output = Output> + Send>>>,
    desk: Desk<Ask, Answer>,
}

/// The interface of a program: it puts requests here and gets answers.
pub struct Desk<Ask, Answer>(Arc<Mutex<Tray<Ask, Answer>>>);

struct Tray<Ask, Answer> {
    ask: Option<Ask>,
    answer: Option<Answer>,
}

/// The state of a program after it has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<Ask, Output> {
    /// The program is suspended until this request is answered.
    Ask(Ask),
    /// The program has ended with this result.
    Done(Output),
}

impl<Ask, Answer, Output> Coroutine<Ask, Answer, Output>
where
    Ask: Send + 'static,
    Answer: Send + 'static,
{
    /// Calls `program` with a new desk, and stores the future that it returns. The program does not run before [`begin`](Self::begin).
    pub fn new<F>(program: impl FnOnce(Desk<Ask, Answer>) -> F) -> Self
    where
        F: Future<Output = Output> + Send + 'static,
    {
        let desk = Desk(Arc::new(Mutex::new(Tray {
            ask: None,
            answer: None,
        })));
        Coroutine {
            program: Mutex::new(Box::pin(program(desk.clone()))),
            desk,
        }
    }

    /// Runs to the first request or to the end. This must be called once, before [`resume`](Self::resume).
    pub fn begin(&mut self) -> Step<Ask, Output> {
        let program = self
            .program
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        match program
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(output) => Step::Done(output),
            Poll::Pending => Step::Ask(
                self.desk
                    .tray()
                    .ask
                    .take()
                    .expect("a program is suspended only at a request"),
            ),
        }
    }

    /// Runs the program to its end. `answer` answers each request at once.
    pub fn run(mut self, mut answer: impl FnMut(Ask) -> Answer) -> Output {
        let mut step = self.begin();
        loop {
            match step {
                Step::Ask(ask) => step = self.resume(answer(ask)),
                Step::Done(output) => return output,
            }
        }
    }

    /// Answers the last request, and runs to the next request or to the end.
    pub fn resume(&mut self, answer: Answer) -> Step<Ask, Output> {
        self.desk.tray().answer = Some(answer);
        self.begin()
    }
}

impl<Ask, Answer> Desk<Ask, Answer> {
    /// Suspends the program until `ask` is answered.
    pub async fn ask(&self, ask: Ask) -> Answer {
        self.tray().ask = Some(ask);
        poll_fn(|_| match self.tray().answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        })
        .await
    }

    fn tray(&self) -> MutexGuard<'_, Tray<Ask, Answer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Ask, Answer> Clone for Desk<Ask, Answer> {
    fn clone(&self) -> Self {
        Desk(Arc::clone(&self.0))
    }
}

impl<Ask, Answer, Output> fmt::Debug for Coroutine<Ask, Answer, Output> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Coroutine")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn doubled(desk: Desk<u32, u32>) -> u32 {
        let mut sum = 0;
        for ask in 1..=3 {
            sum += desk.ask(ask).await;
        }
        sum
    }

    #[test]
    fn a_program_stands_still_at_each_request_and_goes_on_with_its_answer() {
        let mut program = Coroutine::new(doubled);
        assert_eq!(program.begin(), Step::Ask(1));
        assert_eq!(program.resume(10), Step::Ask(2));
        assert_eq!(program.resume(20), Step::Ask(3));
        assert_eq!(program.resume(30), Step::Done(60));
    }

    #[test]
    fn a_program_without_requests_ends_at_once() {
        let mut program: Coroutine<(), (), u32> = Coroutine::new(|_| async { 7 });
        assert_eq!(program.begin(), Step::Done(7));
    }
}
