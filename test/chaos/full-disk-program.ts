/**
 * A program: fills its disk through the store, in groups; reports which writes were stored and
 * which were refused, then frees space and tries again.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from '../../src/errors.ts'
import { openDriver, storeOver } from './open-store.ts'

const folder = process.argv[2] ?? ''
const ballast = join(folder, 'ballast')
writeFileSync(ballast, Buffer.alloc(1_000_000))
const database = { kind: 'sqlite', path: join(folder, 'holdfast.db') } as const
const store = storeOver(await openDriver(database, true))

const token = (size: number) =>
  store.tokens.create(
    { scope: 'admin', name: 'x'.repeat(size), userId: null, secret: 's', actor: 'test' },
    null,
  )

const codes: string[] = []
let kept = 0
while (!codes.includes('store_full') && kept < 10_000) {
  const group = [100, 20_000, 100, 20_000, 100].map(token)
  for (const result of await Promise.allSettled(group)) {
    if (result.status === 'fulfilled') kept++
    else codes.push(result.reason instanceof HoldfastError ? result.reason.code : 'unknown')
  }
}
const stored = (await store.tokens.list({ limit: 20_000, cursor: null })).items.length
rmSync(ballast)
await token(20_000)
const after = (await store.tokens.list({ limit: 20_000, cursor: null })).items.length
await store.close()
console.log(JSON.stringify({ codes: [...new Set(codes)], kept, stored, after }))
