/**
 * Goal: a move touches nothing but an empty target or its own copy, and only one move works at a
 * time. A moved store says where it is.
 * Method: every wrong target and source, and two moves at once.
 */
import { copyFileSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { openHoldfast } from '../../src/index.ts'
import { loadMigrations } from '../../src/stores/migrations.ts'
import { moveStore } from '../../src/stores/move/move-store.ts'
import type { MoveAnswer } from '../../src/stores/move/move-terms.ts'
import { planCopy } from '../../src/stores/move/copy-plan.ts'
import { MoveSource } from '../../src/stores/move/source.ts'
import { lookAtTarget, targetColumns } from '../../src/stores/move/target-look.ts'
import { storeBatch } from '../../src/stores/move/target-verbs.ts'
import { openPostgresDriver } from '../../src/stores/open-postgres.ts'
import { execActor } from '../../src/domain/audit.ts'
import { machine } from '../chaos/open-store.ts'
import { completion, grant, jobClaim, leaseRequest } from '../conformance/claims.ts'
import { ExecWorld, newJob, untilGo } from '../exec/exec-world.ts'
import { databases } from '../scenarios/server-data.ts'
import { fillStore, pull } from './filled-store.ts'
import { at, useMoveWorld } from './move-world.ts'

const world = useMoveWorld()

const versionsThere = async () =>
  (await world().there('SELECT version::int FROM migration ORDER BY 1')).map(
    ({ version }) => version,
  )

const namesThere = () =>
  world().there("SELECT relname FROM pg_class WHERE relnamespace = 'holdfast'::regnamespace")

describe('the target', () => {
  it('is refused if a server has started on it, and is not changed', async () => {
    await world().fill()
    const other = await world().target()
    await other.upkeep.recordMode('live')
    await other.close()
    const before = await world().there('SELECT * FROM store_state ORDER BY key')
    await expect(world().move()).rejects.toMatchObject({
      code: 'target_not_empty',
      hint: expect.stringContaining('createdb'),
    })
    expect(await world().there('SELECT * FROM store_state ORDER BY key')).toEqual(before)
    expect(await world().openable()).toEqual({ source: true, target: true })
  })

  it('is refused if it has any row of a store, and its older schema is not migrated', async () => {
    await world().fill()
    await (await world().target()).close()
    await world().there('DELETE FROM migration WHERE version = 26')
    await world().there("INSERT INTO author VALUES ('user', 7, 1)")
    await expect(world().move()).rejects.toMatchObject({ code: 'target_not_empty' })
    expect(await versionsThere()).not.toContain(26)
  })

  it('may have been migrated before, as long as it is empty', async () => {
    await world().fill()
    await (await world().target()).close()
    expect((await world().move()).outcome).toBe('moved')
  })

  it('is refused if a newer program has migrated it', async () => {
    await world().fill()
    await (await world().target()).close()
    await world().there("INSERT INTO migration VALUES (9999, 'later', 1)")
    await expect(world().move()).rejects.toMatchObject({ code: 'store_newer' })
  })

  it.each([
    ['table', 'CREATE TABLE run (id int)'],
    ['table of another server', 'CREATE FOREIGN TABLE run (id int) SERVER other'],
    ['view', 'CREATE VIEW run AS SELECT 1 AS id'],
    ['table with a name of ours', 'CREATE TABLE migration (id int)'],
  ])('is refused if it has a %s in our schema that is not ours', async (_what, statement) => {
    await world().fill()
    const before = readFileSync(world().path)
    await world().there('CREATE SCHEMA holdfast')
    await world().there('CREATE FOREIGN DATA WRAPPER nothing')
    await world().there('CREATE SERVER other FOREIGN DATA WRAPPER nothing')
    await world().there(statement)
    const refusal = {
      code: 'store_foreign',
      message: expect.stringMatching(/has a table "(run|migration)" that Holdfast did not create/),
      hint: expect.stringContaining('createdb'),
    }
    await expect(world().move()).rejects.toMatchObject(refusal)
    await expect(world().target()).rejects.toMatchObject(refusal)
    expect(readFileSync(world().path)).toEqual(before)
    expect(await namesThere()).toHaveLength(1)
    expect((await world().openable()).source).toBe(true)
  })

  it('may have tables in other schemas', async () => {
    await world().fill()
    await world().there('CREATE TABLE public.run (id int)')
    expect((await world().move()).outcome).toBe('moved')
  })

  it('with a copy that another version began is refused', async () => {
    await world().fill()
    await world().dieAt(at('copying'))
    const newest = loadMigrations('postgres').at(-1)?.version
    await world().there(`UPDATE store_state
      SET value = replace(value, '"schema":${newest}', '"schema":3') WHERE key = 'move'`)
    await expect(world().move()).rejects.toMatchObject({
      code: 'move_version',
      hint: expect.stringContaining('--undo'),
    })
  })

  it('with the copy of another store is refused', async () => {
    await world().fill()
    await world().dieAt(at('copying'))
    world().here("UPDATE store_state SET value = 'another' WHERE key = 'store_id'")
    await expect(world().move()).rejects.toMatchObject({
      code: 'target_not_empty',
      message: expect.stringContaining('another store'),
    })
    await expect(world().undo()).rejects.toMatchObject({ code: 'target_foreign' })
  })

  it('with the finished copy of this store is refused for an older copy of the file', async () => {
    await world().fill()
    world().here("INSERT INTO store_state VALUES ('store_id', 'an-id')")
    copyFileSync(world().path, `${world().path}-old`)
    await world().move()
    const path = `${world().path}-old`
    await expect(moveStore({ ...world().options, path })).rejects.toMatchObject({
      code: 'target_not_empty',
      hint: expect.stringContaining('an older copy'),
    })
  })

  it('that cannot be reached leaves the source as it was', async () => {
    await world().fill()
    const url = 'postgres://postgres@127.0.0.1:1/none'
    await expect(moveStore({ ...world().options, url })).rejects.toMatchObject({
      code: 'store_unreachable',
    })
    expect(await world().openable()).toEqual({ source: true, target: true })
  })
})

describe('the source', () => {
  it('is refused while a server uses it, and no server starts during the move', async () => {
    const server = world().source()
    await fillStore(server)
    await expect(world().move()).rejects.toMatchObject({
      code: 'store_in_use',
      hint: expect.stringContaining('Stop it first'),
    })
    await server.close()
    await world().move((step) => {
      if (step.what !== 'begun') return
      expect(() => world().source()).toThrow(expect.objectContaining({ code: 'store_in_use' }))
    })
  })

  it('is refused while an exec works on it, and the refusal names the run', async () => {
    const exec = await ExecWorld.open(databases[0]!.makeData)
    try {
      const path = exec.path('holdfast.db')
      const ahead = exec.start(newJob(['--subject', 'line']), `touch $AT/first; ${untilGo}`)
      await exec.written('pid')
      const next = exec.start(newJob(['--subject', 'line']), 'touch $AT/second; exit 0')
      await next.said(/is queued behind another run/)
      const { id } = (await exec.runs()).find(({ state }) => state === 'running')!
      await expect(moveStore({ ...world().options, path })).rejects.toMatchObject({
        code: 'store_in_use',
        message: expect.stringMatching(new RegExp(`exec works on .*: ${id} \\(build of line\\)`)),
        hint: expect.stringMatching(/process is gone.*until \d{4}-.*Z/),
      })
      exec.write('go', 'now')
      expect([(await ahead.ended).code, (await next.ended).code]).toEqual([0, 0])
      expect((await moveStore({ ...world().options, path })).outcome).toBe('moved')
    } finally {
      await exec.close()
    }
  })

  it('is not refused because of an exec whose lease is over, or that has ended', async () => {
    await world().fill()
    const program = world().source(undefined, false)
    for (const name of ['exec-1', 'exec-2', 'exec-3', 'exec-4', 'exec-5', 'exec-6', 'exec-7']) {
      await program.runs.claim(jobClaim(name, name, { actor: execActor }), null)
    }
    // At its turn an exec leases the run that was queued.
    const { run } = await program.runs.claim(jobClaim('exec-8', 'exec-8', { lease: null }), null)
    const request = leaseRequest({ runId: run!.id, actor: execActor, grant: grant() })
    expect(await program.runs.lease(request, null)).not.toBeNull()
    const ended = await program.runs.claim(jobClaim('9', '9', { actor: execActor }), null)
    await program.runs.complete(completion(ended, 'succeeded'), null)
    await program.close()
    await expect(world().move()).rejects.toMatchObject({
      message: expect.stringMatching(/: (run_\w+ \(job of exec-\d\), ){5}and 3 more$/),
    })
    world().here("UPDATE run SET lease_expires_at = 1 WHERE subject LIKE 'exec-%'")
    // Workers that ask over HTTP keep their runs.
    const held = world().here("SELECT id FROM run WHERE state = 'running' AND lease_expires_at > 1")
    expect(held.length).toBeGreaterThan(0)
    expect((await world().move()).outcome).toBe('moved')
  })

  it('cannot be written during the move, not even by a program that has it open', async () => {
    await world().fill()
    let refused = 0
    await world().move((step) => {
      if (step.what !== 'begun') return
      expect(() => world().here("UPDATE run SET worker = 'x'")).toThrow(/locked/)
      refused++
    })
    expect(refused).toBe(1)
  })

  it('with an older schema is brought up to date first', async () => {
    await world().fill()
    world().here('DELETE FROM migration WHERE version = 26')
    world().here('ALTER TABLE audit DROP COLUMN cause_id')
    world().here('ALTER TABLE delivery DROP COLUMN cause_id')
    expect((await world().move()).outcome).toBe('moved')
  })
})

describe('two moves at once', () => {
  it('the second one is refused, also from a copy of the file', async () => {
    await world().fill()
    const path = `${world().path}-copy`
    copyFileSync(world().path, path)
    const others: Promise<unknown>[] = []
    const told = (of: Promise<MoveAnswer>): Promise<string> =>
      of.then(
        ({ outcome }) => outcome,
        (error: unknown) => String((error as { readonly code?: unknown }).code),
      )
    await world().move((step) => {
      if (step.what !== 'begun') return
      for (const other of [world().options, { ...world().options, path }]) {
        others.push(told(moveStore(other)))
      }
    })
    // On a busy machine the first one may end before the others look.
    for (const answer of await Promise.all(others)) {
      expect(['move_running', 'already']).toContain(answer)
    }
  })

  it('a process that was overtaken changes nothing', async () => {
    await world().fill()
    await world().dieAt(at('begun'))
    const driver = await openPostgresDriver(world().database.url, machine, 'never')
    const source = new MoveSource(world().path, machine)
    try {
      const plan = planCopy(source.columns(), await driver.read(targetColumns))
      const table = plan.find(({ name }) => name === 'author')!
      const { record } = await driver.read(lookAtTarget)
      const [next, late] = [
        { ...record!, rows: 1 },
        { ...record!, rows: 2 },
      ]
      const row = (id: number) => `[{"kind":"user","github_id":${id},"first_seen_at":1}]`
      const store = (id: number, after: typeof next) =>
        driver.transact(() => storeBatch(table, { rows: row(id), count: 1 }, record!, after))
      await store(1, next)
      await expect(store(2, late)).rejects.toMatchObject({ code: 'move_running' })
      expect(await world().there('SELECT github_id::int AS id FROM author')).toEqual([{ id: 1 }])
    } finally {
      source.close()
      await driver.close()
    }
  })
})

describe('a moved store', () => {
  it('names where it is, without a password, to whoever opens it', async () => {
    await world().fill()
    await world().move()
    const error = {
      code: 'store_moved',
      message: expect.stringContaining('was moved to postgres://db.test/holdfast'),
      hint: expect.stringContaining('holdfast move --undo --to postgres://db.test/holdfast'),
    }
    expect(() => world().source()).toThrow(expect.objectContaining(error))
    expect(() => world().source(undefined, false)).toThrow(expect.objectContaining(error))
    const databaseUrl = `sqlite:${world().path}`
    await expect(openHoldfast({ databaseUrl })).rejects.toMatchObject(error)
    await expect(openHoldfast({ databaseUrl }, { onStoreError: 'open' })).rejects.toMatchObject({
      code: 'store_moved',
    })
  })

  it('cannot be written by a program that had it open', async () => {
    const program = world().source(undefined, false)
    const filled = await fillStore(program)
    await world().move()
    await expect(program.runs.claim(pull(99, 'a'), null)).rejects.toMatchObject({
      code: 'store_moved',
    })
    const holder = { runId: filled.held.run!.id, leaseHash: 'x', leaseMs: null, actor: 'test' }
    await expect(program.runs.heartbeat(holder, null)).rejects.toMatchObject({
      code: 'store_moved',
    })
    expect(world().here('SELECT count(*) AS n FROM run WHERE pr = 99')).toEqual([{ n: 0 }])
  })
})
