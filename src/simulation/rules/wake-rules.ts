/**
 * Rule 11, checked after the quiet hours: nothing that a node executes was lost, and whoever worked
 * on a run had a lease of the store, whatever a wake-up said.
 */
import type { Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'

const endStates = new Set(['succeeded', 'failed', 'cancelled', 'skipped', 'superseded'])

export function checkWork(facts: Facts, world: World, findings: Findings): void {
  const { work } = world
  if (work === null) return
  for (const { id, type, state, error_code: code } of facts.runs) {
    if (!work.executed.includes(type)) continue
    // Steps fail with `step_failed`, and the handlers throw nothing else.
    findings.check('11', code !== 'handler_failed', () => `run ${id} failed by something else`)
    findings.check('11', endStates.has(state), () => `run ${id} was lost: it is ${state}`)
  }
  const audit = new Map(facts.audit.map((row) => [row.id, row]))
  const fences = new Set<number>()
  for (const { runId, fence, actor, at, inNode } of work.effects.executions) {
    if (!inNode || (world.forgotten !== null && at <= world.forgotten.until)) continue
    const row = audit.get(fence)
    const isLeased = row?.type === 'run.leased' && row.run_id === runId && row.actor === actor
    findings.check('11', isLeased && !fences.has(fence), () => {
      const found = row?.type ?? 'no audit row'
      return `${actor} works on ${runId} without a lease of its own (${found})`
    })
    fences.add(fence)
  }
}
