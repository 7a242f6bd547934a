/**
 * Goal: no commit of a move is lost or done twice when its connection is, and a move whose server
 * goes away is finished later.
 * Method: a relay in front of PostgreSQL that cuts connections at a COMMIT.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { moveStore } from '../../src/stores/move/move-store.ts'
import type { MoveProgress } from '../../src/stores/move/move-terms.ts'
import { undoMove } from '../../src/stores/move/undo-move.ts'
import { startRelay, type Relay } from '../chaos/relay.ts'
import { useMoveWorld } from './move-world.ts'

const world = useMoveWorld()
let relay: Relay
beforeEach(async () => {
  relay = await startRelay()
  relay.aim(world().database.url)
})
afterEach(() => relay.close())

const throughRelay = (onProgress: (step: MoveProgress) => void = () => undefined) => ({
  ...world().options,
  url: relay.url(world().database.url),
  onProgress,
})

it.each(['request', 'answer'] as const)(
  'every commit whose %s is lost counts once',
  async (what) => {
    await world().fill()
    const answer = await moveStore(throughRelay(() => relay.loseCommit(what)))
    // One for the record, one for each table with rows, one at the end of the copy, one to release.
    expect(relay.commitsLost).toBeGreaterThan(15)
    expect(answer.outcome).toBe('moved')
    expect(await world().openable()).toEqual({ source: false, target: true })
    expect(
      await world().there("SELECT count(*)::int AS n FROM audit WHERE type = 'store.moved'"),
    ).toEqual([{ n: 1 }])
  },
  60_000,
)

it('a server that goes away is an error, and the move is finished later', async () => {
  await world().fill()
  let batches = 0
  const moving = moveStore(
    throughRelay(({ what }) => {
      if (what === 'copying' && ++batches === 5) {
        relay.aim('postgres://postgres@127.0.0.1:1/none')
        relay.cut()
      }
    }),
  )
  await expect(moving).rejects.toMatchObject({ code: 'store_unreachable' })
  expect(await world().openable()).toEqual({ source: true, target: false })
  expect((await world().move()).outcome).toBe('moved')
}, 60_000)

it.each(['request', 'answer'] as const)('an undo whose %s is lost is finished', async (what) => {
  await world().fill()
  await world().move()
  relay.loseCommit(what)
  expect(await undoMove(throughRelay())).toMatchObject({ outcome: 'undone' })
  expect(relay.commitsLost).toBe(1)
  const source = world().source()
  await source.close()
})
