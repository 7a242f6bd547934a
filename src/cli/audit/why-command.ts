/** `holdfast why`: what happened to something and why, in plain words. */
import type { Command } from 'commander'
import { questionForms } from '../../audit/why/question.ts'
import { HoldfastError } from '../../errors.ts'
import { addConnectionFlags, type Parsed } from '../connection/connection.ts'
import { UsageError, withHint } from '../failure.ts'
import { withOperations } from '../operations/open-operations.ts'
import { printJson } from '../output/json.ts'
import { paintFor, type Paint } from '../output/paint.ts'
import { printable } from '../output/printable.ts'
import { wrap } from '../output/text-width.ts'
import type { Terminal } from '../terminal.ts'
import type { World } from '../world.ts'

/** The same limit as in the HTTP API. */
const queryMax = 500
/** A longer one fills the message. */
const shownMax = 80

export function addWhyCommand(program: Command, world: World): void {
  const why = program
    .command('why <query>')
    .summary('say in plain words what happened to something, and why')
    .description(
      'Says what happened to a pull request (owner/repo#N or its address), a run, a delivery or ' +
        "a webhook (its id, or GitHub's GUID), what was decided at each point, what GitHub " +
        'shows, what is awaited until when, and what you can do.',
    )
    .option('--json', 'print the story as JSON')
  addConnectionFlags(why)
    .addHelpText(
      'after',
      `
Examples:
  holdfast why acme/widgets#5
  holdfast why run_01m7gsy7fk6bdsn606m36w5wgd
  holdfast why del_01m7gsy7fk6bdsn606m36w5wgd
  holdfast why 72d3162e-cc78-11e3-81ab-4c9367dc0958 --json`,
    )
    .action(async (given: string, parsed: Parsed) => {
      const query = checkQuery(given)
      const asked = withOperations(world, parsed, (operations) =>
        withHint(operations.why(query), {
          run_not_found: 'It may be past its retention. List what there is: holdfast runs',
          delivery_not_found:
            'It may be past its retention. List what there is: holdfast deliveries',
        }),
      )
      const answer = await asked.catch((error: unknown) => {
        throw isNoQuestion(error) ? noQuestion(query) : error
      })
      if (parsed['json'] === true) return printJson(world.terminal, answer)
      printStory(world.terminal, answer.text)
    })
}

function checkQuery(given: string): string {
  const query = given.trim()
  if (query !== '' && query.length <= queryMax) return query
  throw new UsageError('Ask about something: owner/repo#N, a run, a delivery, or a webhook')
}

/** In the words of the command line: a server names the parameter of its own address. */
function noQuestion(query: string): UsageError {
  const shown = query.length <= shownMax ? ` ${JSON.stringify(query)}` : ''
  const [, name, number] = /^(?:([\w.-]{1,100})?#)?([1-9]\d{0,14})$/.exec(query) ?? []
  const hint =
    number === undefined
      ? 'For example: holdfast why acme/widgets#5'
      : `Name the repository, too: holdfast why OWNER/${name ?? 'REPO'}#${number}`
  return new UsageError(`The question${shown} ${questionForms}`, hint)
}

/** The question is all that such a request has. A server refuses it with the second code. */
const isNoQuestion = (error: unknown): boolean =>
  error instanceof HoldfastError && ['invalid_value', 'invalid_request'].includes(error.code)

/** On a terminal, long lines are broken at its width, and some lines are emphasised. */
function printStory(terminal: Terminal, text: string): void {
  const lines = text.replace(/\n+$/, '').split('\n').map(printable)
  const { columns } = terminal
  if (columns === null) return terminal.out(`${lines.join('\n')}\n`)
  const paint = paintFor(terminal.colour)
  lines.forEach((line, at) => {
    terminal.out(`${screenLine(line, at === 0, columns, paint)}\n`)
  })
}

/** What a line begins with: its indent, and a time or a dash. */
const beginning = /^ *(?:\d\d:\d\d:\d\d {2,4}|- )?/
const title = /^[A-Z][^.]{0,40}$/
/** A command has its own line, indented more than the text about it. It is never broken. */
const command = /^ {4}\S/

function screenLine(line: string, isHeadline: boolean, columns: number, paint: Paint): string {
  if (command.test(line)) return paint(line, 'cyan')
  const begin = beginning.exec(line)?.[0] ?? ''
  const style = isHeadline ? 'bold' : title.test(line) ? 'dim' : null
  const pieces = wrap(line.slice(begin.length), Math.max(30, columns - begin.length))
  const [first = '', ...more] = pieces.map((piece) => paint(piece, style))
  const below = more.map((piece) => `${' '.repeat(begin.length)}${piece}`)
  return [`${paint(begin, 'dim')}${first}`, ...below].join('\n')
}
