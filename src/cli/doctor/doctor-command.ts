/** `holdfast doctor`: checks the setup, and says how to fix what is wrong. */
import type { Command } from 'commander'
import { runDoctor, type DoctorStore } from '../../doctor/doctor.ts'
import { failedCheck, reportOf, type Report } from '../../doctor/report.ts'
import { settingsProblems } from '../../doctor/configuration.ts'
import type { Finding } from '../../domain/finding.ts'
import { SettingsError } from '../../settings/settings-error.ts'
import type { Settings } from '../../settings/settings.ts'
import {
  addConnectionFlags,
  connectionOf,
  type Connection,
  type Parsed,
} from '../connection/connection.ts'
import { exitCodes } from '../failure.ts'
import { inspect } from '../database/migrate-command.ts'
import { makeLog } from '../serve/log.ts'
import { openExisting } from '../operations/open-operations.ts'
import { wrapMessage } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { paintFor, type Style } from '../output/paint.ts'
import { printable } from '../output/printable.ts'
import { padTo, textWidth } from '../output/text-width.ts'
import { serverClient } from '../connection/server-client.ts'
import type { Terminal } from '../terminal.ts'
import type { World } from '../world.ts'

export function addDoctorCommand(
  program: Command,
  world: World,
  finish: (exitCode: number) => void,
): void {
  const doctor = program
    .command('doctor')
    .summary('check configuration, store, queue, runs and GitHub; say how to fix problems')
    .description(
      'Checks configuration, store, queue, runs, webhooks and GitHub, and says how to fix what ' +
        'is wrong. Changes nothing. Works with and without an active server, and without a ' +
        'database. With --url the server checks itself. Exits with 1 if there is a problem; ' +
        'warnings do not change the exit code.',
    )
    .option('--json', 'print {"ok","findings":[{"check","level","detail","remedy"}]}')
  addConnectionFlags(doctor)
    .addHelpText(
      'after',
      `
Examples:
  holdfast doctor
  holdfast doctor --json | jq '.findings[] | select(.level != "ok")'
  holdfast doctor --url http://127.0.0.1:8787`,
    )
    .action(async (parsed: Parsed) => {
      const report = await reportFor(world, parsed)
      if (parsed['json'] === true) printJson(world.terminal, report)
      else printReport(world.terminal, report)
      finish(report.ok ? exitCodes.fine : exitCodes.failed)
    })
}

async function reportFor(world: World, parsed: Parsed): Promise<Report> {
  let connection: Connection
  try {
    connection = await connectionOf(world, parsed)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return reportOf(settingsProblems(error))
  }
  return connection.kind === 'server'
    ? await fromServer(world, connection.url, connection.bearer)
    : await checkHere(world, connection.settings)
}

async function fromServer(world: World, url: string, bearer: string): Promise<Report> {
  try {
    const answer = await serverClient(world, url, bearer).ask({ method: 'GET', path: '/v1/doctor' })
    const report = answer as Report | null
    if (Array.isArray(report?.findings)) return report
    throw new Error(`${url} gave an unexpected answer; is it a Holdfast server?`)
  } catch (error) {
    return reportOf([failedCheck('server', error)])
  }
}

async function checkHere(world: World, settings: Settings): Promise<Report> {
  const inspection = inspect(world, settings)
  const opened = inspection.then(
    async ({ schema }) => {
      const usable = schema.version > 0 && schema.missing.length === 0
      return usable ? await openExisting(world, settings) : null
    },
    // The check of the store reports why it could not be inspected.
    () => null,
  )
  const { clock, random, scheduler, version, terminal } = world
  const machine = { clock, random, scheduler, log: makeLog('silent', terminal) }
  try {
    return await runDoctor({
      settings,
      inspect: () => inspection,
      store: (): Promise<DoctorStore | null> => opened,
      github: () => world.openGitHub(settings, { ...machine, version, fetch: world.fetch }),
      queue: async () => {
        // What waits is under the store's id, which only a server may make.
        const storeId = (): Promise<string> => Promise.resolve('doctor')
        const engine = await world.openEngine({ ...settings, runs: {} }, { ...machine, storeId })
        try {
          return await engine.health()
        } finally {
          await engine.stop()
        }
      },
    })
  } finally {
    await opened.then((store) => store?.close()).catch(() => undefined)
  }
}

const roomMin = 50
const marks = { ok: ['✓', 'green'], warning: ['!', 'yellow'], problem: ['✗', 'red'] } as const

function printReport(terminal: Terminal, { findings }: Report): void {
  const paint = paintFor(terminal.colour)
  const width = Math.max(0, ...findings.map(({ check }) => textWidth(check)))
  const columns = terminal.columns ?? Infinity
  // If the column for the details would be too narrow, they are below the name of the check.
  const isBeside = columns - width - 4 >= roomMin
  const blank = ' '.repeat(isBeside ? width + 4 : 4)
  const room = Math.max(30, columns - blank.length)
  for (const { check, level, detail, remedy } of findings) {
    const [mark, style] = marks[level]
    const lines = wrapMessage(printable(detail), room)
    const remedies = remedy === null ? [] : wrapMessage(printable(remedy), room - 2)
    const name = paint(padTo(printable(check), isBeside ? width : 0), 'bold')
    const first = isBeside ? `  ${lines[0] ?? ''}` : ''
    terminal.out(`${paint(mark, style)} ${name}${first}\n`)
    for (const line of isBeside ? lines.slice(1) : lines) terminal.out(`${blank}${line}\n`)
    remedies.forEach((line, at) => {
      terminal.out(`${blank}${paint(`${at === 0 ? '→' : ' '} ${line}`, 'cyan')}\n`)
    })
  }
  terminal.err(`${paintFor(terminal.colour && terminal.watched)(...summaryOf(findings))}\n`)
}

function summaryOf(findings: readonly Finding[]): [string, Style] {
  const count = (level: Finding['level']): number =>
    findings.filter((finding) => finding.level === level).length
  const [problems, warnings] = [count('problem'), count('warning')]
  const counts = `${number(problems, 'problem')}, ${number(warnings, 'warning')}.`
  return [counts, problems > 0 ? 'red' : warnings > 0 ? 'yellow' : 'green']
}

function number(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
