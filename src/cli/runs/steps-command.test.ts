/** What `runs steps` and `runs step` print and do, directly on a real database. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StepAction } from '../../domain/step.ts'
import { stepKey } from '../../ids.ts'
import { hashLeaseToken } from '../../secrets.ts'
import { sha, storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'

let at: StoreWorld
let runId = ''
let leaseHash = ''
beforeEach(async () => {
  at = await storeWorld()
  const { run, lease } = await at.runs.claim(
    {
      kind: 'pull_request',
      type: 'review',
      repo: 'acme/widgets',
      pr: 5,
      baseSha: sha('a'),
      headSha: sha('b'),
    },
    'test',
  )
  runId = run?.id ?? ''
  leaseHash = hashLeaseToken(lease?.token ?? '')
})
afterEach(() => at.close())

const act = (name: string, action: StepAction) => {
  const start = { name, startId: `start of ${name}`, codeVersion: 'v1' }
  return at.runs.actOnStep({ ...start, runId, leaseHash, actor: 'test', action })
}

/** One step is done, one has failed, and one is held under this name. */
async function holdStep(held = 'charge'): Promise<void> {
  await act('diff', { do: 'begin', policy: 'repeat' })
  await act('diff', { do: 'record', result: '{"lines":3}' })
  await act('lint', { do: 'begin', policy: 'repeat' })
  await act('lint', { do: 'fail', errorCode: 'no_tool', errorText: 'eslint is missing' })
  await act(held, { do: 'begin', policy: 'hold' })
  await act(held, { do: 'hold' })
}

const stepNow = async (name = 'charge') => {
  const step = await at.store.steps.get(runId, name)
  return step && { state: step.state, result: step.result, error: step.errorText }
}
const runState = async () => (await at.store.runs.get(runId))?.state

describe('runs steps', () => {
  test('lists the steps of a round, without results', async () => {
    await holdStep()
    const { code, stdout } = await at.command('runs', 'steps', runId)
    const rows = stdout.trimEnd().split('\n')
    expect(code).toBe(0)
    expect(rows[0]?.split('\t').slice(0, 4)).toEqual(['name', 'state', 'in_doubt', 'attempt'])
    // In the same millisecond their order is that of their names.
    expect(
      rows
        .slice(1)
        .toSorted()
        .map((row) => row.split('\t').slice(0, 4)),
    ).toEqual([
      ['charge', 'held', 'hold', '1'],
      ['diff', 'done', 'repeat', '1'],
      ['lint', 'failed', 'repeat', '1'],
    ])
    expect(stdout).toContain('\tno_tool\teslint is missing\t')
    const json = await at.command('runs', 'steps', runId, '--json')
    const { items, next_cursor: cursor } = JSON.parse(json.stdout) as {
      items: { name: string }[]
      next_cursor: null
    }
    expect(items.map(({ name }) => name).toSorted()).toEqual(['charge', 'diff', 'lint'])
    expect(cursor).toBeNull()
    expect(json.stdout).not.toContain('lines')
    const other = await at.command('runs', 'steps', runId, '--round', '2')
    expect(other).toEqual({ code: 0, stdout: expect.any(String) as string, stderr: 'No steps.\n' })
  })

  const choices = (key: string) =>
    "The run waits for a person's decision.\n" +
    `- Find out whether the step charge was done. Its key is ${key}. If it was done, confirm it ` +
    '(without --result, the run gets null):\n' +
    `    holdfast runs step confirm ${runId} charge --result JSON\n` +
    '- If it was not done, repeat it:\n' +
    `    holdfast runs step repeat ${runId} charge\n` +
    '- If it must not be repeated, let it fail:\n' +
    `    holdfast runs step fail ${runId} charge\n`

  test('says what to decide about a held step, with the commands', async () => {
    await holdStep()
    const key = stepKey({ runId, round: 1, name: 'charge' })
    expect((await at.command('runs', 'steps', runId)).stderr).toBe(choices(key))
    expect((await at.command('runs', 'steps', runId, '--json')).stderr).toBe('')
    at.world.terminal.columns = 200
    const { stdout, stderr } = await at.command('runs', 'steps', runId)
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^STEP {3,}STATE {3,}POLICY {2}ATTEMPTS {2}BEGAN {2,}TOOK {3,}ERROR\n/)
    expect(stdout).toMatch(/\ncharge +held +hold +1 +(now|\d s ago)\n/)
    expect(stdout).toMatch(/\nlint +failed .* < 1 s +no_tool: eslint is missing\n/)
    expect(stdout.endsWith(`\n\n${choices(key)}`)).toBe(true)
  })

  test('does not offer a decision about a run that has ended', async () => {
    await holdStep()
    await at.command('runs', 'cancel', runId)
    expect(await at.command('runs', 'steps', runId)).toMatchObject({ code: 0, stderr: '' })
  })

  test('commands about a step whose name begins with a hyphen can be copied', async () => {
    await holdStep('-x')
    const { stderr } = await at.command('runs', 'steps', runId)
    const [command = ''] = /holdfast runs step repeat .*/.exec(stderr) ?? []
    expect((await at.command(...command.split(' ').slice(1))).code).toBe(0)
    expect(await stepNow('-x')).toMatchObject({ state: 'open' })
  })
})

describe('runs show', () => {
  test('names the held step of a waiting run', async () => {
    expect((await at.command('runs', 'show', runId)).stdout).toMatch(/^held_step\t$/m)
    await holdStep()
    expect((await at.command('runs', 'show', runId)).stdout).toMatch(/^held_step\tcharge$/m)
    at.world.terminal.columns = 100
    const { stdout } = await at.command('runs', 'show', runId)
    expect(stdout).toContain(
      'Waits for a person: it is not known whether the step charge was done.\n' +
        `Decide about it: holdfast runs steps ${runId}\n`,
    )
  })
})

describe('runs step', () => {
  const named = () => `The step charge of ${runId} (acme/widgets#5)`

  test.each([
    ['confirm', [], 'counts as done', { state: 'done', result: 'null' }],
    ['confirm', ['--result', '{"id": 7}'], 'counts as done', { state: 'done', result: '{"id":7}' }],
    ['repeat', [], 'is done again', { state: 'open', result: null }],
    ['fail', ['--text', 'not paid'], 'has failed', { state: 'failed', error: 'not paid' }],
  ])('%s %j decides about a held step', async (verb, flags, outcome, step) => {
    await holdStep()
    const done = await at.command('runs', 'step', verb, runId, 'charge', ...flags)
    expect(done).toEqual({
      code: 0,
      stdout: `${named()} ${outcome}. The run waits for a worker.\n`,
      stderr: '',
    })
    expect(await stepNow()).toMatchObject(step)
    expect(await runState()).toBe('pending')
    const audit = await at.command('audit', '--run', runId)
    expect(audit.stdout).toMatch(/\toperator\.step_\w+\tcli\t/)
  })

  test('prints the step and the run as JSON', async () => {
    await holdStep()
    const { stdout } = await at.command('runs', 'step', 'repeat', runId, 'charge', '--json')
    const decided = { step: { name: 'charge', state: 'open' }, run: { state: 'pending' } }
    expect(JSON.parse(stdout)).toMatchObject(decided)
  })

  test.each([
    [['repeat', 'run_nope', 'charge'], 1, 'There is no run run_nope', 'holdfast runs'],
    [['repeat', 'RUN', 'nope'], 1, 'has no step "nope"', 'List its steps: holdfast runs steps'],
    [['fail', 'RUN', 'diff'], 1, 'is done', 'What its steps are now: holdfast runs steps'],
    [['repeat', 'RUN', 'a b'], 2, 'The name of a step must be 1 to 100 letters', ''],
    [['confirm', 'RUN', 'charge', '--result', '{x'], 2, '--result must be JSON', '{"id":7}'],
    [
      ['confirm', 'RUN', 'charge', '--result', JSON.stringify('x'.repeat(262_143))],
      2,
      '--result must be at most 256 KB as JSON. Store it elsewhere',
      '',
    ],
    [['fail', 'RUN', 'charge', '--text', ' '], 2, '--text must not be empty', ''],
    [['repeat', 'RUN'], 2, 'Missing argument: holdfast runs step repeat <step>', ''],
    [['repaet', 'RUN'], 2, 'Unknown command "repaet". Did you mean "repeat"?', ''],
  ])('%j ends with %i', async (argv, code, message, hint) => {
    await holdStep()
    const words = argv.map((word) => (word === 'RUN' ? runId : word))
    const done = await at.command('runs', 'step', ...words)
    expect(done.stderr).toContain(message)
    expect(done.stderr).toContain(hint)
    expect({ code: done.code, stdout: done.stdout }).toEqual({ code, stdout: '' })
    expect(await stepNow()).toMatchObject({ state: 'held' })
  })

  test('of a run that has ended is refused', async () => {
    await holdStep()
    await at.command('runs', 'cancel', runId)
    const done = await at.command('runs', 'step', 'repeat', runId, 'charge')
    expect(done.code).toBe(1)
    expect(done.stderr).toContain('has already ended: cancelled')
  })
})
