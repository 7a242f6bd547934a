/**
 * Goal: a move copies every table and every column, also those that a later migration adds.
 * Method: make the plan from the real schemas of both databases, and from schemas that differ.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { otherTables, planCopy, type TablePlan } from '../../src/stores/move/copy-plan.ts'
import { selectFromSource } from '../../src/stores/move/copy-statements.ts'
import type { SourceColumn, TargetColumn } from '../../src/stores/move/copy-plan.ts'
import { MoveSource } from '../../src/stores/move/source.ts'
import { targetColumns } from '../../src/stores/move/target-look.ts'
import { openPostgresDriver } from '../../src/stores/open-postgres.ts'
import { machine } from '../chaos/open-store.ts'
import { migratedMemory } from '../schema/dump-sqlite.ts'
import { MoveWorld } from './move-world.ts'

let world: MoveWorld
let source: readonly SourceColumn[]
let target: readonly TargetColumn[]
let plan: readonly TablePlan[]

beforeAll(async () => {
  world = await MoveWorld.make()
  const file = new MoveSource(world.path, machine)
  source = file.columns()
  file.close()
  const driver = await openPostgresDriver(world.database.url, machine)
  target = await driver.read(targetColumns)
  await driver.close()
  plan = planCopy(source, target)
})
afterAll(() => world.close())

describe('the plan of the real schemas', () => {
  it('copies every table, or says why not', () => {
    const db = migratedMemory()
    const all = db
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`)
      .all()
      .map(({ name }) => String(name))
    db.close()
    const planned = [...plan.map(({ name }) => name), ...Object.keys(otherTables)]
    expect(planned.toSorted()).toEqual(all.toSorted())
    expect(new Set(planned).size).toBe(planned.length)
  })

  it('fills every column of the target', () => {
    const filled = plan.flatMap(({ name, columns, filled: others }) =>
      [...columns.map((column) => column.name), ...others.map(({ column }) => column)].map(
        (column) => `${name}.${column}`,
      ),
    )
    const all = target
      .filter(({ table }) => !Object.hasOwn(otherTables, table))
      .map(({ table, name }) => `${table}.${name}`)
    expect(filled.toSorted()).toEqual(all.toSorted())
  })

  it('continues the numbers of every table that gives numbers', () => {
    const db = migratedMemory()
    const numbering = db
      .prepare(`SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%' ORDER BY 1`)
      .all()
      .map(({ name }) => name)
    db.close()
    expect(plan.flatMap(({ name, numbered }) => (numbered === null ? [] : [name]))).toEqual(
      numbering,
    )
  })

  it('reads every table by its key, without sorting it in memory', () => {
    const db = migratedMemory()
    for (const table of plan) {
      for (const after of [[], table.key.map(() => 'x')]) {
        const { text, params } = selectFromSource(table, after)
        const steps = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...params)
        expect(steps.map(({ detail }) => detail).join(), table.name).not.toContain('TEMP B-TREE')
      }
    }
    db.close()
  })

  it('needs no order of tables, because no table refers to another', async () => {
    const found = await world.there(`SELECT conname FROM pg_constraint
      WHERE contype = 'f' AND connamespace = 'holdfast'::regnamespace`)
    expect(found, 'let the referred tables be copied first').toEqual([])
  })
})

describe('schemas that differ are refused', () => {
  const here = (name: string, type = 'INTEGER', place = 0) => ({ table: 't', name, type, place })
  const there = (name: string, type = 'bigint') => ({ table: 't', name, type, numbered: false })
  const key = here('id', 'TEXT', 1)

  it.each([
    ['the target has no table t', [key], []],
    ['only the target has the table t', [], [there('id', 'text')]],
    ['the target has no column t.n', [key, here('n')], [there('id', 'text')]],
    ['only the target has the column t.n', [key], [there('id', 'text'), there('n')]],
    ['t.id is TEXT here and bigint in the target', [key], [there('id')]],
    ['the table t has no primary key', [here('id')], [there('id')]],
  ])('%s', (text, columns, others) => {
    expect(() => planCopy(columns, others)).toThrow(text)
  })

  it.each([
    ['INTEGER', 'bigint'],
    ['INTEGER', 'integer'],
    ['INTEGER', 'boolean'],
    ['BLOB', 'bytea'],
    ['TEXT', 'text'],
  ])('but %s may be %s', (type, other) => {
    const columns = [there('id', 'text'), there('v', other)]
    expect(planCopy([key, here('v', type)], columns)).toMatchObject([{ key: ['id'] }])
  })
})
