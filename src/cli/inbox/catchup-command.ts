/** `holdfast catchup`: looks now for changes on GitHub of which no webhook arrived. */
import type { Command } from 'commander'
import type { CatchUpView } from '../../contract/catch-up.ts'
import { localCaller } from '../../operations/caller.ts'
import { catchUp } from '../../operations/inbox.ts'
import { addConnectionFlags, connectionOf, type Parsed } from '../connection/connection.ts'
import { makeLog } from '../serve/log.ts'
import { openExisting } from '../operations/open-operations.ts'
import { printText } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { printable } from '../output/printable.ts'
import { progressOn } from '../output/progress.ts'
import { serverClient } from '../connection/server-client.ts'
import type { World } from '../world.ts'

export function addCatchupCommand(program: Command, world: World): void {
  const catchup = program
    .command('catchup')
    .summary('process webhooks that never arrived')
    .description(
      'With a GitHub App, reads which webhooks GitHub sent in the last three days and processes ' +
        'those that never arrived. Then compares the pull requests of known repositories with ' +
        'the runs: creates missing runs, and cancels runs whose pull request was closed. A ' +
        'server does the same at its start and every five minutes. It is safe to run beside a ' +
        'server, and to repeat.',
    )
    .option('--json', 'print the whole report as JSON')
  addConnectionFlags(catchup)
    .addHelpText(
      'after',
      `
Examples:
  holdfast catchup
  holdfast catchup --url http://127.0.0.1:8787 --json | jq .runs_made`,
    )
    .action(async (parsed: Parsed) => {
      const progress = progressOn(world.terminal)
      progress.show('Asking GitHub …')
      const report = await reportFor(world, parsed).finally(() => progress.end())
      if (parsed['json'] === true) return printJson(world.terminal, report)
      printText(world.terminal, catchUpText(report))
    })
}

async function reportFor(world: World, parsed: Parsed): Promise<CatchUpView> {
  const connection = await connectionOf(world, parsed)
  if (connection.kind === 'server') {
    const { url, bearer } = connection
    const path = '/v1/catchup'
    const answer = await serverClient(world, url, bearer).ask({ method: 'POST', path })
    const report = answer as CatchUpView | null
    if (Array.isArray(report?.runs_made)) return report
    throw new Error(`${url} gave an unexpected answer; is it a Holdfast server?`)
  }
  const { settings } = connection
  const store = await openExisting(world, settings)
  try {
    const { clock, random, scheduler, version, terminal } = world
    const log = makeLog('silent', terminal)
    const machine = { clock, random, scheduler, fetch: world.fetch }
    const look = () => world.catchUpBeside(store, settings, { ...machine, version, log })
    return await catchUp({ catchUp: look }, localCaller('cli'), {})
  } finally {
    await store.close()
  }
}

function catchUpText(report: CatchUpView): string {
  const { ingested, reconciled, runs_made, runs_cancelled, looked_at, skipped } = report
  const lines = [
    `${ingested === 0 ? 'No' : ingested} missed ${ingested === 1 ? 'webhook' : 'webhooks'} ` +
      `(${looked_at.deliveries} checked).`,
    `${reconciled === 0 ? 'No' : reconciled} pull ` +
      `${reconciled === 1 ? 'request' : 'requests'} changed without a webhook ` +
      `(${looked_at.pull_requests} checked, in ` +
      `${count(looked_at.repositories, 'repository', 'repositories')}).`,
    ...runsLine(runs_made, 'Created'),
    ...runsLine(runs_cancelled, 'Cancelled'),
    ...skipped.map(
      ({ what, reason }) => `Not checked: ${printable(what)}, because ${printable(reason)}`,
    ),
  ]
  return `${lines.join('\n')}\n`
}

function runsLine(runIds: readonly string[], did: string): string[] {
  return runIds.length === 0 ? [] : [`${did} ${count(runIds.length, 'run')}: ${runIds.join(' ')}`]
}

function count(number: number, one: string, more = `${one}s`): string {
  return `${number === 0 ? 'no' : number} ${number === 1 ? one : more}`
}
