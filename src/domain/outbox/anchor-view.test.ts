// Goal: a comment records all commits that it shows a result for, also after another run takes it
// over.
import { expect, it } from 'vitest'
import { aRun } from '../../../test/outbox/sample-delivery.ts'
import { pairOf } from '../pair.ts'
import type { Run } from '../run.ts'
import { anchorView, resultPairsOf, type AnchorView } from './anchor-view.ts'

const shas = (n: number) => ({ baseSha: 'b'.repeat(40), headSha: String(n % 10).repeat(40) })
const runNo = (n: number, over: Partial<Run>): Run =>
  aRun({ id: `run_${n}`, locale: 'en', verdict: null, errorCode: null, ...shas(n), ...over })

function viewAfter(...runs: readonly Run[]): AnchorView {
  const views = runs.reduce<AnchorView | null>((before, run) => anchorView(run, before), null)
  if (views === null) throw new Error('no run was given')
  return views
}

it('a comment shows no result of an active run, and the result of an ended one', () => {
  expect(resultPairsOf(viewAfter(runNo(1, { state: 'running' })))).toEqual([])
  expect(resultPairsOf(viewAfter(runNo(1, { state: 'succeeded' })))).toEqual([pairOf(shas(1))])
})

it('a comment keeps earlier results, but not of runs that ended without one', () => {
  const view = viewAfter(
    runNo(1, { state: 'succeeded' }),
    runNo(2, { state: 'superseded' }),
    runNo(3, { state: 'failed', errorCode: 'timeout' }),
    runNo(4, { state: 'failed', errorCode: 'broken' }),
    runNo(5, { state: 'running' }),
  )
  expect(resultPairsOf(view)).toEqual([pairOf(shas(4)), pairOf(shas(1))])
})

it('a comment loses the result of its run when a new round begins', () => {
  const [done, again] = [runNo(1, { state: 'succeeded' }), runNo(1, { state: 'running', round: 2 })]
  expect(resultPairsOf(viewAfter(done, again))).toEqual([])
  const returned = viewAfter(done, runNo(2, { state: 'superseded' }), again)
  expect(resultPairsOf(returned)).toEqual([])
})

it('a comment shows no result for a run that is not about two commits', () => {
  const view = viewAfter(runNo(1, { state: 'succeeded', baseSha: null }))
  expect(resultPairsOf(view)).toEqual([])
})

it('a comment that was stored before results were recorded can be read', () => {
  const view = viewAfter(runNo(1, { state: 'succeeded' }), runNo(2, { state: 'running' }))
  const past = view.past.map(({ resultPair: _pair, ...line }) => line)
  expect(resultPairsOf({ ...view, past })).toEqual([])
})

it('a comment of a skipped run shows its description, if there is no summary', () => {
  const skipped = { state: 'skipped', errorText: null, description: 'newer commits' } as const
  const reasonOf = (over: Partial<Run>) => viewAfter(runNo(1, { ...skipped, ...over })).errorText
  expect(reasonOf({ summary: null })).toBe('newer commits')
  expect(reasonOf({ summary: 'Only docs' })).toBeNull()
  expect(reasonOf({ summary: null, errorText: 'a bot' })).toBe('a bot')
  expect(reasonOf({ summary: null, state: 'succeeded' })).toBeNull()
})
