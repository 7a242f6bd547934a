/** Goal: for a text that cannot be an id, the answer says what one looks like. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'

let at: StoreWorld
beforeEach(async () => {
  at = await storeWorld()
})
afterEach(() => at.close())

test.each([
  [['runs', 'show', 'foo'], 'A run id looks like run_', 'holdfast runs'],
  [['runs', 'cancel', 'del_1'], 'A run id looks like run_', 'holdfast runs'],
  [['deliveries', 'show', 'foo'], 'A delivery id looks like del_', 'deliveries'],
  [['deliveries', 'retry', 'run_1'], 'A delivery id looks like del_', 'holdfast deliveries'],
  [['inbox', 'show', 'foo'], 'An id looks like inb_', 'holdfast inbox'],
  [['inbox', 'replay', 'foo'], 'a GUID of GitHub like 72d3162e-', 'holdfast inbox'],
])('%j says what an id looks like', async (argv, message, list) => {
  const done = await at.command(...argv)
  expect(done).toMatchObject({ code: 1, stdout: '' })
  expect(done.stderr).toContain(message)
  expect(done.stderr).toContain(list)
  expect(done.stderr).not.toContain('retention')
})

test.each(['run_nope', 'del_nope', 'inb_nope', '72d3162e-cc78-11e3-81ab-4c9367dc0958'])(
  '%s may have been removed',
  async (id) => {
    const list = { run: 'runs', del: 'deliveries' }[id.slice(0, 3)] ?? 'inbox'
    const done = await at.command(list, 'show', id)
    expect(done.code).toBe(1)
    expect(done.stderr).toContain('It may have been removed after its retention time.')
  },
)
