/** English. */
import { twoLargest } from './two-largest.ts'
import type { Words } from './words.ts'

export const english: Words = {
  state: {
    queued: 'waiting for a worker',
    running: 'running',
    waiting: 'waiting for a person',
    passed: 'passed',
    refused: 'not passed',
    neutral: 'done, no verdict',
    failed: 'failed',
    timed_out: 'timed out',
    lost: 'worker lost',
    no_worker: 'no worker',
    cancelled: 'cancelled',
    skipped: 'skipped',
    superseded: 'superseded by a newer commit',
  },
  reason: {
    no_worker: 'No worker took it in time.',
    timeout: 'It was not done in time and was stopped.',
    worker_lost: 'Whoever worked on it fell silent, so there is no result.',
    attempts_exhausted: 'Too many workers in a row were lost, so there is no result.',
    pull_request_closed: 'The pull request was closed.',
    superseded: 'A newer commit took its place before it was done.',
    filtered: 'The rules for this kind of work left it out.',
  },
  headNewer: (type, sha, author, time) =>
    `Not started: ${type}. \`${author}\` asked for it at ${time}, and commit ${sha} may have ` +
    'been pushed after that. Check the commit, then comment again.',
  status: {
    pending: 'Waiting for the result',
    outcome: {
      success: 'Passed',
      failure: 'Not passed',
      neutral: 'Done, no verdict',
      failed: 'Failed',
    },
    ended: {
      no_worker: 'No worker took it in time',
      timeout: 'Timed out',
      worker_lost: 'Worker lost, no result',
      attempts_exhausted: 'Worker lost too many times, no result',
      pull_request_closed: 'Cancelled: the pull request was closed',
      superseded: 'Superseded by a newer commit',
      cancelled: 'Cancelled',
    },
    failed: (why) => `Failed: ${why}`,
    skipped: (why) => (why === null ? 'Skipped' : `Skipped: ${why}`),
    filtered: 'left out by the rules',
  },
  anchor: {
    months: 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' '),
    commit: 'Commit',
    base: 'base',
    queuedAt: (time) => `queued ${time}`,
    startedAt: (time) => `started ${time}`,
    endedAt: (time) => `ended ${time}`,
    attempt: (count) => `attempt ${count}`,
    round: (count) => `round ${count}`,
    duration: (length) =>
      twoLargest(length, { days: 'd', hours: 'h', minutes: 'min', seconds: 's' }),
    phase: {
      pending: '',
      active: 'in progress',
      waiting_approval: 'waiting for approval',
      blocked: 'blocked',
      complete: '',
      failed: 'failed',
    },
    morePhases: (count) => (count === 1 ? 'and 1 more phase' : `and ${count} more phases`),
    reports: 'Progress',
    past: 'Earlier runs',
    pastCount: (count) => (count === 1 ? '1 earlier run' : `${count} earlier runs`),
    pastMore: (count) => `and ${count} earlier`,
    pastState: {
      // It gave its place away, whatever it was doing then.
      pending: 'superseded',
      running: 'superseded',
      waiting: 'superseded',
      succeeded: 'finished',
      failed: 'failed',
      cancelled: 'cancelled',
      skipped: 'skipped',
      superseded: 'superseded',
    },
    details: 'Details',
    rerun: (command) => `Run it again with ${command}`,
    shortened: '_Shortened: the rest did not fit into a comment._',
  },
}
