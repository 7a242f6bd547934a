/**
 * A program: moves a store. At one of its reports it kills itself, or tells its parent and goes on,
 * so that the parent can kill it somewhere after.
 */
import { systemMachine } from '../../src/open-store.ts'
import { moveStore } from '../../src/stores/move/move-store.ts'
import { report, settings, untilLetGo } from '../chaos/child.ts'

export interface MoveConfig {
  readonly path: string
  readonly url: string
  /** One of its reports, and the how manieth of its kind. */
  readonly at: { readonly what: string; readonly nth: number }
  readonly dies: boolean
}

const { path, url, at, dies } = settings() as MoveConfig
await untilLetGo()
let seen = 0
const onProgress = ({ what }: { readonly what: string }): void => {
  if (what !== at.what || ++seen !== at.nth) return
  if (dies) process.kill(process.pid, 'SIGKILL')
  else report({ at: what })
}
const options = { ...systemMachine, path, url, to: 'postgres://db.test/holdfast', onProgress }
await moveStore(options).then(
  ({ outcome }) => report({ outcome }),
  (error: unknown) => report({ error: String(error) }),
)
