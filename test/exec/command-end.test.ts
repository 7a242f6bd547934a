/**
 * Goal: how the command ends is how `exec` ends, and what the run stores.
 * Method: the real program through a real server, with a token that may only work.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { RunJson } from '../scenarios/client.ts'
import { databases, publishNothing } from '../scenarios/server-data.ts'
import { answerOf, ExecWorld, newJob, pullRequest } from './exec-world.ts'

vi.setConfig({ testTimeout: 60_000 })

type StoredRun = RunJson & {
  readonly outcome: string
  readonly error: { readonly code: string; readonly text: string } | null
  readonly input: unknown
}

let world: ExecWorld

beforeAll(async () => {
  world = await ExecWorld.open(databases[0]!.makeData)
  publishNothing(world.data)
  await world.serve()
})
afterAll(() => world.close())

async function execute(script: string, flags: readonly string[] = newJob(), env = {}) {
  const ended = await world.run([...flags, '--json'], script, env)
  const answer = answerOf(ended)
  const run = (await world.server.admin.run(answer.run_id ?? '')) as StoredRun
  return { ...ended, answer, run }
}

describe('the exit code', () => {
  it.each([
    [0, 'succeeded', null],
    [78, 'skipped', null],
    [1, 'failed', 'command_failed'],
    [7, 'failed', 'command_failed'],
  ])('%i is kept, and the run has %s', async (code, outcome, errorCode) => {
    const { code: own, answer, run } = await execute(`echo last words >&2; exit ${code}`)
    expect(own).toBe(code)
    expect(answer).toMatchObject({ outcome, reason: 'new', exit_code: code, run_key: run.key })
    expect([run.state, run.outcome]).toEqual([outcome, outcome])
    expect(run.error?.code ?? null).toBe(errorCode)
    if (errorCode !== null) expect(run.error?.text).toBe(`exit code ${code}\nlast words`)
  })

  it('of a command that a signal ended is 128 and the number of the signal', async () => {
    const { code, run } = await execute('kill -KILL $$')
    expect([code, run.error?.text]).toEqual([137, 'signal SIGKILL'])
  })

  it('is 127 if there is no such command and 126 if it may not be executed', async () => {
    const missing = await world.startCommand(newJob(), ['no-such-command']).ended
    expect(missing.code).toBe(127)
    expect(missing.stderr).toContain('"no-such-command" was not found')
    writeFileSync(world.path('plain.txt'), '')
    chmodSync(world.path('plain.txt'), 0o644)
    const plain = await world.startCommand(newJob(), [world.path('plain.txt')]).ended
    expect(plain.code).toBe(126)
    const [run] = await world.runs()
    expect(run).toMatchObject({ state: 'failed', error: { code: 'command_not_started' } })
  })

  it('is 1 if the command succeeded but left a result that nobody can read', async () => {
    const { code, run } = await execute('echo "{" >$HOLDFAST_RESULT_FILE')
    expect(code).toBe(1)
    expect(run).toMatchObject({ state: 'failed', error: { code: 'bad_result_file' } })
    const long = await execute('head -c 270000 /dev/zero | tr "\\0" x >$HOLDFAST_SUMMARY_FILE')
    expect([long.code, long.run.error?.code]).toEqual([1, 'bad_result_file'])
  })

  it('is 1, not 78, if the command skipped but left a result that nobody can read', async () => {
    const { code, answer, run } = await execute('echo "{" >$HOLDFAST_RESULT_FILE; exit 78')
    expect(run).toMatchObject({ state: 'failed', error: { code: 'bad_result_file' } })
    expect([code, answer]).toMatchObject([1, { outcome: 'failed', exit_code: 1 }])
  })

  it('is 2 for a command line that is wrong, and nothing is claimed', async () => {
    const count = (await world.runs()).length
    const missing = await world.run(['--repo', 'acme/widgets', '--pr', '5', '--json'], 'true')
    expect(answerOf(missing)).toMatchObject({ reason: 'wrong-usage', exit_code: 2 })
    expect([missing.code, missing.stderr]).toEqual([
      2,
      expect.stringContaining('--base, --head are missing'),
    ])
    const wrong = await world.run([...pullRequest('a').slice(0, -1), 'abc'], 'true')
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('--head must be a full sha'),
    ])
    expect((await world.runs()).length).toBe(count)
  })

  it('is 3 if no server answers', async () => {
    const env = { HOLDFAST_URL: 'http://127.0.0.1:9' }
    const ended = await world.run(newJob(['--json']), 'touch $AT/worked', env)
    expect([ended.code, world.has('worked')]).toEqual([3, false])
    expect(ended.stderr).toContain('http://127.0.0.1:9 could not be reached')
    expect(answerOf(ended)).toMatchObject({ outcome: null, reason: 'unreachable', exit_code: 3 })
  })
})

describe('the command', () => {
  it('leaves its summary and result with the run, and shows its summary in the job', async () => {
    const script =
      'echo "# All good" >$HOLDFAST_SUMMARY_FILE; echo \'{"found":3}\' >$HOLDFAST_RESULT_FILE'
    world.write('step-summary', 'before\n')
    const env = { GITHUB_STEP_SUMMARY: world.path('step-summary') }
    const { run, code } = await execute(script, newJob(), env)
    expect(code).toBe(0)
    expect(run).toMatchObject({ summary: '# All good\n', result: { found: 3 } })
    expect(await world.written('step-summary')).toBe('before\n# All good')
  })

  it('gets the run as its input, with what the caller gave', async () => {
    const flags = newJob(['--input', '{"depth":2}', '--subject', 'docs', '--repo', 'acme/widgets'])
    const { run, code } = await execute('cp $HOLDFAST_INPUT_FILE $AT/input.json', flags)
    expect(code).toBe(0)
    expect(JSON.parse(await world.written('input.json'))).toMatchObject({
      ...{ id: run.id, subject: 'docs', repo: 'acme/widgets', input: { depth: 2 } },
    })
  })

  it('gets the environment and the file modes of its job, but no secret of Holdfast', async () => {
    const env = {
      ...{ MY_OWN: 'value', GITHUB_TOKEN: 'ghp_the_token_of_the_job', HOLDFAST_LEASE_MS: '30000' },
      ...{ GITHUB_PRIVATE_KEY: 'a-key', HOLDFAST_ADMIN_TOKEN: 'an-admin-token' },
    }
    await execute('env >$AT/env; umask >$AT/umask', newJob(), env)
    const lines = (await world.written('env')).split('\n')
    const names = lines.map((line) => line.split('=')[0] ?? '')
    expect(lines).toContain('MY_OWN=value')
    expect(lines).toContain('GITHUB_TOKEN=ghp_the_token_of_the_job')
    expect(names.filter((name) => /^HOLDFAST_/.test(name)).toSorted()).toEqual([
      ...['HOLDFAST_DATA_DIR', 'HOLDFAST_INPUT_FILE', 'HOLDFAST_LEASE_MS', 'HOLDFAST_MCP_CONFIG'],
      ...['HOLDFAST_MCP_URL', 'HOLDFAST_RESULT_FILE', 'HOLDFAST_RUN_ID', 'HOLDFAST_RUN_TOKEN'],
      ...['HOLDFAST_SUMMARY_FILE', 'HOLDFAST_URL'],
    ])
    expect(names).not.toContain('GITHUB_PRIVATE_KEY')
    expect(await world.written('umask')).toBe(execFileSync('sh', ['-c', 'umask']).toString().trim())
  })

  it('shows its output as it comes, and what is stored of it has no secrets', async () => {
    const script = 'echo out; echo "token $HOLDFAST_RUN_TOKEN of $NPM_TOKEN" >&2; exit 3'
    const { run, stdout, stderr } = await execute(script, newJob(), { NPM_TOKEN: 'my-npm-secret' })
    expect(stdout).toMatch(/^out\n/)
    expect(stderr).toContain('of my-npm-secret\n')
    expect(run.error?.text).toBe('exit code 3\nout\ntoken *** of ***')
  })

  it('loses no output, however much there is and however slow its reader', async () => {
    const script = 'i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done; echo end'
    const command = world.start(newJob(), script)
    command.child.stdout?.pause()
    await world.run(newJob(), 'true')
    command.child.stdout?.resume()
    const { code, stdout } = await command.ended
    expect([code, stdout.trim().split('\n').length]).toEqual([0, 20_001])
    expect(stdout.endsWith('\nend\n')).toBe(true)
  })

  it.each([
    ['output', ['full', 'pipe'], [], 0],
    ['output, and so is the answer', ['full', 'pipe'], ['--json'], 1],
    ['error output', ['pipe', 'full'], [], 0],
  ] as const)('goes on if the disk is full for its %s', async (_what, streams, more, code) => {
    const full = openSync('/dev/full', 'w')
    const [out, err] = streams.map((one) => (one === 'full' ? full : 'pipe'))
    const flags = newJob(more)
    const script = 'echo out; echo err >&2; sleep 0.3; echo out; echo err >&2; echo x >$AT/on'
    const command = world.startCommand(flags, ['sh', '-c', script], {}, [out!, err!])
    const ended = await command.ended
    closeSync(full)
    expect([ended.code, await world.written('on')]).toEqual([code, 'x'])
    expect(ended.stderr).not.toContain('    at ')
    if (err === 'pipe') {
      expect(ended.stderr).toContain('holdfast: Standard output cannot be written (ENOSPC)')
    }
    const run = (await world.runs()).find(({ key }) => key === flags[3])
    expect(run).toMatchObject({ state: 'succeeded' })
    rmSync(world.path('on'))
  })

  it('may leave its last line without an end, and the answer begins its own line', async () => {
    const { stdout, answer } = await execute("printf 'no end'")
    expect(stdout).toMatch(/^no end\n\{.*\}\n$/)
    expect(answer).toMatchObject({ exit_code: 0 })
    expect((await execute('echo end')).stdout).toMatch(/^end\n\{/)
  })

  it('may write to /dev/stderr', async () => {
    const { code, stderr } = await execute('echo there >/dev/stderr')
    expect(code).toBe(0)
    expect(stderr).toContain('there\n')
  })

  it('reports and publishes with its run token', async () => {
    const script =
      'curl -sf -X POST $HOLDFAST_URL/v1/runs/$HOLDFAST_RUN_ID/status ' +
      '-H "authorization: Bearer $HOLDFAST_RUN_TOKEN" -H "content-type: application/json" ' +
      '-d \'{"status":"half way"}\' >$AT/status'
    const { code, run } = await execute(script)
    expect(code).toBe(0)
    expect(JSON.parse(await world.written('status'))).toMatchObject({ status: 'ok' })
    const { text } = await world.server.admin.get(`/v1/runs/${run.id}/audit`)
    expect(text).toContain('half way')
  })
})
