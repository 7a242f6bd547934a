/**
 * A review bot's gate in one file: claim before the work, complete after it, stop when the pull
 * request was force-pushed meanwhile. Run it: `npx node examples/gate.ts` (Node 24 or newer).
 */
import { openHoldfast, type ConflictError } from 'holdfast'

const holdfast = await openHoldfast({ databaseUrl: 'sqlite::memory:' })

const pullRequest = {
  repo: 'acme/widgets',
  prNumber: 7,
  baseSha: 'b'.repeat(40),
  headSha: 'a'.repeat(40),
  // GitHub's time of the event (`pull_request.updated_at`): it says which of two heads is newer.
  eventAt: new Date('2026-01-31T12:00:00Z'),
}

const gate = await holdfast.checkAndClaimRun({
  ...pullRequest,
  deliveryId: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  action: 'opened',
})
console.log(`first delivery: ${gate.shouldProcess ? 'work' : 'skip'} (${gate.reason})`)

// GitHub redelivers, a second hook fires, a colleague restarts the bot: same answer every time.
const again = await holdfast.checkAndClaimRun({ ...pullRequest, action: 'opened' })
console.log(`second delivery: ${again.shouldProcess ? 'work' : 'skip'} (${again.reason})`)

// A force-push makes a new head: the old run's signal aborts, wherever its worker is.
const newer = await holdfast.checkAndClaimRun({
  ...pullRequest,
  headSha: 'c'.repeat(40),
  action: 'synchronize',
  beforeSha: pullRequest.headSha,
  eventAt: new Date('2026-01-31T12:05:00Z'),
})
console.log(`force-push: ${newer.shouldProcess ? 'work' : 'skip'} (${newer.reason})`)
await new Promise((resolve) => {
  if (gate.signal.aborted) resolve(null)
  else gate.signal.addEventListener('abort', resolve)
})
console.log(`the old run's signal: ${(gate.signal.reason as { code: string }).code}`)

// The worker of the old head lost its lease, so it cannot complete the run.
try {
  await gate.complete()
} catch (error) {
  console.log(`its late completion: ${(error as ConflictError).code}`)
}

const done = await newer.complete({
  outcome: 'succeeded',
  verdict: 'success',
  summary: 'Two nits, nothing blocking.',
})
console.log(`the new run: ${done?.state}`)

await holdfast.close()
