/**
 * Goal: all processes of a store share one set of marker keys: the newest signs, none is lost, none
 * is replaced, and the audit says who exported or imported them, never with a secret.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { hour, openWorld, type OpenStore, type World } from '../world.ts'

export function markerKeys(open: OpenStore): void {
  let opened: World
  beforeEach(async () => {
    opened = await openWorld(open)
  })
  afterEach(() => opened.close())

  const world = () => opened
  const outbox = () => world().store.outbox
  const auditRows = async (type: string) =>
    (await world().store.audit.list({ type }, { limit: 10, cursor: null })).items

  it('several processes that start at once have one first key', async () => {
    const all = await Promise.all([outbox().markerKeys(), outbox().markerKeys()])
    expect(all[0]).toHaveLength(1)
    expect(all[1]).toEqual(all[0])
  })

  it('rotating adds a key that signs, also when the clock was set back', async () => {
    const [first] = await outbox().markerKeys()
    const [second] = await outbox().rotateMarkerKey('mona')
    world().clock.move(-hour)
    const all = await outbox().rotateMarkerKey('mona')
    expect(all).toHaveLength(3)
    expect(all.slice(1).map(({ id }) => id)).toEqual([second?.id, first?.id])
    expect(await outbox().markerKeys()).toEqual(all)
    const [row] = await auditRows('operator.keys_rotated')
    expect(row).toMatchObject({ actor: 'mona', data: { key_ids: [all[0]?.id] } })
  })

  it('two rotations at once add two keys', async () => {
    await outbox().markerKeys()
    await Promise.all([outbox().rotateMarkerKey('a'), outbox().rotateMarkerKey('b')])
    const times = (await outbox().markerKeys()).map(({ createdAt }) => createdAt)
    expect(new Set(times).size).toBe(3)
  })

  it('an export is audited, without secrets', async () => {
    const all = await outbox().exportMarkerKeys('mona')
    const [row] = await auditRows('operator.keys_exported')
    expect(row).toMatchObject({ actor: 'mona', data: { key_ids: all.map(({ id }) => id) } })
    for (const { secret } of all) expect(JSON.stringify(row)).not.toContain(secret)
  })

  it('an import adds missing keys, once, and the store’s newest key still signs', async () => {
    const own = await outbox().rotateMarkerKey('mona')
    const old = { id: 'old', secret: 's'.repeat(43), createdAt: 1000 }
    const given = [old, ...own]
    expect(await outbox().importMarkerKeys(given, 'mona')).toEqual({
      added: ['old'],
      known: own.map(({ id }) => id),
    })
    expect(await outbox().markerKeys()).toEqual([...own, old])
    expect((await outbox().importMarkerKeys(given, 'mona')).added).toEqual([])
    expect(await auditRows('operator.keys_imported')).toHaveLength(1)
  })

  it('an import that names a key twice adds it once, unless the two differ', async () => {
    const key = { id: 'twice', secret: 'x'.repeat(43), createdAt: 1 }
    const differs = outbox().importMarkerKeys([key, { ...key, secret: 'y'.repeat(43) }], 'cli')
    await expect(differs).rejects.toMatchObject({ code: 'key_differs' })
    expect(await outbox().importMarkerKeys([key, key], 'cli')).toEqual({
      added: [key.id],
      known: [],
    })
  })

  it('an import of another secret under a known id is refused whole', async () => {
    const [own] = await outbox().markerKeys()
    const other = { id: own!.id, secret: 'o'.repeat(43), createdAt: 1000 }
    const fresh = { id: 'fresh', secret: 'f'.repeat(43), createdAt: 1000 }
    const given = outbox().importMarkerKeys([fresh, other], 'mona')
    await expect(given).rejects.toMatchObject({ code: 'key_differs' })
    expect(await outbox().markerKeys()).toEqual([own])
  })
}
