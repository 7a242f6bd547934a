/**
 * Ours: a node as `holdfast serve` composes it, without HTTP and without its publisher. It claims
 * runs of new pull requests and leaves them to its own work loop, which leases them, executes their
 * function and completes them. What the runs should show is stored, and not sent.
 *
 *   holdfast.ts DATABASE_URL QUEUE_URL|none all|claims|works NUMBER
 *
 * `claims` leaves the runs to another process, which `works`.
 */
import { createWriteStream } from 'node:fs'
import { pino } from 'pino'
import { connect, nodeSettings } from '../../src/connect.ts'
import type { Engine } from '../../src/engine.ts'
import { openNode } from '../../src/node.ts'
import { openWork } from '../../src/open-work.ts'
import { RunSecrets } from '../../src/texts/run-secrets.ts'
import { loadSettings } from '../../src/settings/load-settings.ts'
import { newPullRequest, useNumbersOf } from '../workload.ts'
import { answerOrders, runFinished, wallTime } from './executor.ts'

const [databaseUrl = '', queueUrl = 'none', part = 'all', number = '0'] = process.argv.slice(2)
useNumbersOf(Number(number))
// It logs as in production, but the log needs no disk.
const log = pino({ level: 'info' }, createWriteStream('/dev/null'))
const flags = { databaseUrl, port: '0', ...(queueUrl !== 'none' && { queueUrl }) }
const settings = await loadSettings({ flags, env: {}, cwd: import.meta.dirname })
const { machine, store, engine, metrics } = await connect(settings, { log, version: 'bench' })
const opened = await openWork(settings, {
  ...{ ...machine, store, log, github: null, url: () => '' },
  runSecrets: new RunSecrets(),
})
const node = openNode({
  ...machine,
  ...nodeSettings(settings),
  ...{ store, log, metrics, ask: null, publishTo: null, webhookSecrets: [] },
  engine: countFinished(engine),
  role: 'server',
  work: part === 'claims' ? null : (opened?.work ?? null),
})
await node.prepare()
await node.start()
answerOrders(() => {
  const request = { ...newPullRequest('measured'), input: wallTime(), lease: false }
  return node.runs.claim(request, 'token:bench')
})

/** Of every run that has ended the engine is told, after the commit. */
function countFinished(inner: Engine): Engine {
  const announceLost = inner.announceLost.bind(inner)
  inner.announceLost = (runIds) => {
    announceLost(runIds)
    for (const _ of runIds) runFinished()
  }
  return inner
}
