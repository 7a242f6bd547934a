/** Goal: an id that cannot be one is refused with what one looks like, and how to list them. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'

let at: StoreWorld
beforeEach(async () => {
  at = await storeWorld()
})
afterEach(() => at.close())

test.each([
  [['runs', 'show', 'foo'], 2, '"foo" is not a run id, such as run_', 'holdfast runs'],
  [['runs', 'cancel', 'del_1'], 2, '"del_1" is not a run id, such as run_', 'holdfast runs'],
  [['deliveries', 'show', 'foo'], 2, '"foo" is not a delivery id, such as del_', 'deliveries'],
  [['deliveries', 'retry', 'run_1'], 2, '"run_1" is not a delivery id', 'holdfast deliveries'],
  [['inbox', 'show', 'foo'], 1, 'An id looks like inb_', 'holdfast inbox'],
  [['inbox', 'replay', 'foo'], 1, 'a GUID of GitHub like 72d3162e-', 'holdfast inbox'],
])('%j ends with %i', async (argv, code, message, list) => {
  const done = await at.command(...argv)
  expect(done).toMatchObject({ code, stdout: '' })
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
