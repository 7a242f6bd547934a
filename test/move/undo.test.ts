/**
 * Goal: a move can be taken back as long as nothing used the new store, and never when something
 * did. An undo that dies is finished by the same command.
 * Method: undo after each step of a move, after each kind of use, and from each step of an undo.
 */
import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/store.ts'
import { undoMove } from '../../src/stores/move/undo-move.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { pull } from './filled-store.ts'
import { at, useMoveWorld } from './move-world.ts'

const world = useMoveWorld()
const page = { limit: 100, cursor: null }

const tablesThere = async () =>
  await world().there(`SELECT tablename FROM pg_tables WHERE schemaname = 'holdfast'`)

async function expectUndone(): Promise<void> {
  expect(await tablesThere()).toEqual([])
  const source = world().source()
  expect((await source.runs.claim(pull(1, 'a'), null)).reason).toBe('duplicate')
  expect((await source.runs.claim(pull(97, 'a'), null)).reason).toBe('new')
  await source.close()
}

/** As after a crash of an undo that had noted its beginning. */
const noteUndoing = () =>
  world().here(`UPDATE store_state SET value = json_set(value, '$.undoing', json('true'))
    WHERE key = 'moved_to'`)

describe('an undo', () => {
  it.each(['begun', 'copying', 'verifying', 'copied', 'marked', 'released'] as const)(
    'after a move that died when it was %s opens the file again',
    async (what) => {
      await world().fill()
      await world().dieAt(at(what))
      expect(await world().undo()).toMatchObject({ outcome: 'undone' })
      await expectUndone()
    },
  )

  it('of a finished move opens the file again, and it can be moved again', async () => {
    await world().fill()
    await world().move()
    expect(await world().undo()).toMatchObject({ outcome: 'undone' })
    await expectUndone()
    expect(await world().undo()).toMatchObject({ outcome: 'nothing' })
    expect((await world().move()).outcome).toBe('moved')
    const target = await world().target()
    expect((await target.runs.claim(pull(97, 'a'), null)).reason).toBe('duplicate')
  })

  it('is possible after somebody only looked at the new store', async () => {
    await world().fill()
    await world().move()
    const target = await world().target()
    await target.runs.list({}, page)
    await target.audit.list({}, page)
    await target.audit.latestOrder()
    await target.upkeep.vitals()
    await target.outbox.backlog()
    await target.close()
    expect(await world().undo()).toMatchObject({ outcome: 'undone' })
  })
})

describe('an undo is refused after', () => {
  it.each<[string, (store: Store) => Promise<unknown>]>([
    ['a server was active', ({ upkeep }) => upkeep.beat()],
    ['a claim', ({ runs }) => runs.claim(pull(98, 'a'), null)],
    [
      'a new token',
      ({ tokens }) => {
        const token = { scope: 'read', name: null, userId: null, secret: 'hft_x', actor: 'test' }
        return tokens.create(token, null)
      },
    ],
    ['another marker key', ({ outbox }) => outbox.rotateMarkerKey('test')],
  ])('%s', async (_what, use) => {
    await world().fill()
    await world().move()
    const target = await world().target()
    await use(target)
    await target.close()
    await expect(world().undo()).rejects.toMatchObject({
      code: 'target_used',
      hint: expect.stringContaining('HOLDFAST_DATABASE_URL'),
    })
    expect(await world().openable()).toEqual({ source: false, target: true })
  })

  it('a server was active while an undo had died, and the move stands', async () => {
    await world().fill()
    await world().move()
    noteUndoing()
    const target = await world().target()
    await target.upkeep.beat()
    await target.close()
    await expect(world().undo()).rejects.toMatchObject({ code: 'target_used' })
    expect((await world().move()).outcome).toBe('already')
  })
})

describe('an undo that died', () => {
  it('before it removed the copy is finished by the next one', async () => {
    await world().fill()
    await world().move()
    noteUndoing()
    expect(() => world().source()).toThrow(/an undo has begun/)
    expect(await world().undo()).toMatchObject({ outcome: 'undone' })
    await expectUndone()
  })

  it('before it removed the copy is given up by the next move', async () => {
    await world().fill()
    await world().move()
    noteUndoing()
    expect((await world().move()).outcome).toBe('already')
    expect(() => world().source()).toThrow(/was moved to [^,]+ at/)
  })

  it('after it removed the copy is finished by the next one, and by no move', async () => {
    await world().fill()
    await world().move()
    noteUndoing()
    const names = (await tablesThere()).map(({ tablename }) => String(tablename))
    await world().there(`DROP TABLE ${names.join()}`)
    await expect(world().move()).rejects.toMatchObject({
      code: 'store_moved',
      hint: expect.stringContaining('Finish the undo'),
    })
    expect(await world().undo()).toMatchObject({ outcome: 'undone' })
    await expectUndone()
  })
})

describe('an undo with the wrong target', () => {
  it('is refused if the store was moved elsewhere', async () => {
    await world().fill()
    await world().move()
    const other = await freshDatabase()
    try {
      const options = { ...world().options, url: other.url, to: 'postgres://db.test/other' }
      await expect(undoMove(options)).rejects.toMatchObject({ code: 'store_moved' })
      noteUndoing()
      await expect(undoMove(options)).rejects.toMatchObject({ code: 'store_moved' })
    } finally {
      await other.drop()
    }
    expect(await world().openable()).toEqual({ source: false, target: true })
  })

  it('is refused if that is another store, which is not changed', async () => {
    await world().fill()
    const other = await world().target()
    await other.runs.claim(pull(1, 'z'), null)
    await other.close()
    await expect(world().undo()).rejects.toMatchObject({ code: 'target_foreign' })
    expect(await world().there('SELECT count(*)::int AS n FROM run')).toEqual([{ n: 1 }])
  })

  it('is refused if a lost target is empty now', async () => {
    await world().fill()
    await world().move()
    const names = (await tablesThere()).map(({ tablename }) => String(tablename))
    await world().there(`DROP TABLE ${names.join()}`)
    await expect(world().undo()).rejects.toMatchObject({ code: 'store_moved' })
  })
})
