/**
 * DBOS: a workflow with three steps. A workflow is started directly, under its id as the
 * idempotency key: through a queue it would start more slowly.
 *
 *   dbos.ts DATABASE_URL
 */
import { randomUUID } from 'node:crypto'
import { answerOrders, runFinished } from './executor.ts'

/** What is used of the package, which only `npm run bench` installs. */
interface DbosPackage {
  readonly DBOS: {
    setConfig(config: object): void
    launch(): Promise<void>
    registerWorkflow(work: () => Promise<number>, config: object): () => Promise<number>
    runStep(work: () => Promise<number>, config: object): Promise<number>
    startWorkflow(
      workflow: () => Promise<number>,
      params: { readonly workflowID: string },
    ): () => Promise<{ getResult(): Promise<number> }>
  }
}

const packageName = '@dbos-inc/dbos-sdk'
const { DBOS } = (await import(packageName)) as DbosPackage
const [systemDatabaseUrl = ''] = process.argv.slice(2)

async function work(): Promise<number> {
  const first = await DBOS.runStep(async () => 1, { name: 'first' })
  const second = await DBOS.runStep(async () => first + 1, { name: 'second' })
  return await DBOS.runStep(async () => second + 1, { name: 'third' })
}
const workflow = DBOS.registerWorkflow(work, { name: 'measured' })
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl,
  // As many connections as Holdfast has.
  systemDatabasePoolSize: 10,
  executorID: randomUUID(),
  logLevel: 'error',
})
await DBOS.launch()

answerOrders(async () => {
  const handle = await DBOS.startWorkflow(workflow, { workflowID: randomUUID() })()
  await handle.getResult()
  runFinished()
})
