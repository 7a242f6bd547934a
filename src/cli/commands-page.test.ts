import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FakeWorld } from '../../test/cli/fake-world.ts'

const page = readFileSync('docs/reference/commands.md', 'utf8')

async function helpOf(...argv: readonly string[]): Promise<string> {
  const world = new FakeWorld()
  await world.run(...argv, '--help')
  return world.stdout
}

/** The names in the groups of commands, which come after the options. */
function commandsIn(help: string): string[] {
  const groups = help.slice(help.indexOf('--help')).split('\n\n').slice(1)
  return groups
    .filter((group) => /^(Run|Operate|Upkeep|Commands):\n/.test(group))
    .flatMap((group) => [...group.matchAll(/^ {2}([a-z]+)/gm)].map((match) => match[1] ?? ''))
    .filter((name) => name !== 'help')
}

test('the commands page has every command and its subcommands', async () => {
  const commands = commandsIn(await helpOf())
  expect(commands.length).toBeGreaterThan(8)
  for (const name of commands) {
    expect(page).toContain(`holdfast ${name}`)
    expect(page).toContain(`\n## ${name}\n`)
    for (const child of commandsIn(await helpOf(name))) {
      expect(page).toContain(`${name} ${child}`)
    }
  }
  const documented = [...page.matchAll(/^## ([a-z]+)$/gm)].map((match) => match[1])
  expect(documented).toEqual(commands)
})

test('the exit codes have the same words in the help and in the docs', async () => {
  const help = await helpOf()
  const codes = [...help.matchAll(/^ {2}(\d) {2}(.+)$/gm)].map(([, code, words]) => [code, words])
  expect(codes.map(([code]) => code)).toEqual(['0', '1', '2', '3'])
  for (const path of ['docs/reference/commands.md', 'docs/operating/running.md']) {
    const rows = [...readFileSync(path, 'utf8').matchAll(/^\| (\d) +\| (.+?) +\|$/gm)]
    expect(rows.map(([, code, words]) => [code, words])).toEqual(codes)
  }
})

test.each(['runs', 'inbox', 'deliveries', 'budgets', 'audit', 'keys'])(
  'the help of %s has the flags of its list, which runs without a subcommand',
  async (name) => {
    const flagsIn = (help: string): string[] => help.match(/^ {2}--?[a-z-]+/gm) ?? []
    const flags = flagsIn(await helpOf(name))
    expect(flags).toEqual(flagsIn(await helpOf(name, 'list')))
    expect(flags.length).toBeGreaterThan(2)
    expect(await helpOf(name)).toContain('Without a command it lists')
  },
)

test('every command and subcommand has help with its usage', async () => {
  for (const name of commandsIn(await helpOf())) {
    const children = commandsIn(await helpOf(name))
    for (const argv of [[name], ...children.map((child) => [name, child])]) {
      const help = await helpOf(...argv)
      expect(help).toContain(`Usage: holdfast ${argv.join(' ')}`)
      for (const line of help.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
    }
  }
})
