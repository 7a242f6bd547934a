/**
 * A program: opens a store, reports whether that worked, and keeps the store open until the program
 * ends.
 */
import { HoldfastError } from '../../src/errors.ts'
import { settings, report, untilLetGo } from './child.ts'
import { openStore, type Database } from './open-store.ts'

export interface OpenConfig {
  readonly database: Database
  readonly exclusive?: boolean
}

const config = settings() as OpenConfig
await untilLetGo()
/** Exported, so that it is in use for as long as the process lives. */
export const store = await openStore(config.database, config.exclusive).catch((error: unknown) => {
  const { code, hint } = error instanceof HoldfastError ? error : {}
  report({ opened: false, code, hint, text: String(error) })
  return null
})
if (store !== null) {
  await store.upkeep.recordMode('live')
  await store.ping()
  report({ opened: true })
}
