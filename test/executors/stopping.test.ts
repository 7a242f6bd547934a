/**
 * Goal: stopping a command ends all of its processes, and gives them time to end by themselves.
 * Method: real commands that fork, leave their group or ignore SIGTERM. They write their pids.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { killGraceMs } from '../../src/executors/command/commands.ts'
import { execution, isAlive, openCommands, untilDead } from './commands-world.ts'

/** Long: no test here waits for it. */
const patient = openCommands({ graceMs: 60_000 })
const hasty = openCommands({ graceMs: 300 })
afterAll(() => Promise.all([patient.close(), hasty.close()]))

describe('stop', () => {
  it('ends a command with SIGTERM, and no SIGKILL follows', async () => {
    const gentle = execution('exec polite own')
    const running = patient.run(gentle.request)
    await gentle.pidOf('own')
    running.stop()
    expect(await running.ended).toMatchObject({ exitCode: 7, signal: null, failure: null })
  })

  it('sends one SIGTERM, however often it is called', async () => {
    const counting = execution(
      'trap "echo term" TERM; mark own; wait-for go 2>/dev/null; wait-for go',
    )
    const running = patient.run(counting.request)
    await counting.pidOf('own')
    running.stop()
    running.stop()
    // The guard looks at its processes several times meanwhile.
    await patient.run(execution('sleep 0.6').request).ended
    running.stop()
    counting.go('go')
    expect((await running.ended).output.match(/^term$/gm)).toHaveLength(1)
  })

  it('kills a command that ignores SIGTERM', async () => {
    const deaf = execution('exec stubborn own')
    const running = hasty.run(deaf.request)
    await deaf.pidOf('own')
    running.stop()
    expect(await running.ended).toMatchObject({ exitCode: null, signal: 'SIGKILL', failure: null })
  })

  it('kills it 5 s after the SIGTERM', async () => {
    const commands = openCommands()
    const deaf = execution('exec stubborn own')
    const running = commands.run(deaf.request)
    await deaf.pidOf('own')
    const before = performance.now()
    running.stop()
    expect(await running.ended).toMatchObject({ signal: 'SIGKILL' })
    const took = performance.now() - before
    expect(took).toBeGreaterThan(killGraceMs - 100)
    expect(took).toBeLessThan(killGraceMs + 1000)
    await commands.close()
  })

  it('reaches every process of the group', async () => {
    const family = execution('sleeper one & sleeper two & mark own; wait')
    const running = patient.run(family.request)
    const pids = await Promise.all(['one', 'two', 'own'].map((name) => family.pidOf(name)))
    running.stop()
    expect(await running.ended).toMatchObject({ signal: 'SIGTERM' })
    await Promise.all(pids.map(untilDead))
  })

  it('reaches a child that left the group, and its child', async (context) => {
    if (process.platform !== 'linux') context.skip('needs /proc')
    const away = execution('setsid sh -c "mark away; sleeper child & wait" & wait')
    const running = patient.run(away.request)
    const pids = await Promise.all(['away', 'child'].map((name) => away.pidOf(name)))
    running.stop()
    await running.ended
    await Promise.all(pids.map(untilDead))
  })

  it('kills a child that left the group and ignores SIGTERM', async (context) => {
    if (process.platform !== 'linux') context.skip('needs /proc')
    const away = execution('setsid stubborn away & wait')
    const running = hasty.run(away.request)
    const pid = await away.pidOf('away')
    running.stop()
    await running.ended
    await untilDead(pid)
  })
})

describe('what a command leaves behind', () => {
  it('in its group gets a SIGTERM after the end', async () => {
    const left = execution('polite left >/dev/null 2>&1 & wait-for left')
    expect(await patient.run(left.request).ended).toMatchObject({ exitCode: 0 })
    await left.pidOf('got-term')
    await untilDead(await left.pidOf('left'))
  })

  it('in its group is killed if it ignores the SIGTERM', async () => {
    const left = execution('stubborn left >/dev/null 2>&1 & wait-for left')
    expect(await hasty.run(left.request).ended).toMatchObject({ exitCode: 0 })
    await untilDead(await left.pidOf('left'))
  })

  it('outside its group is killed too, even after a double fork', async (context) => {
    if (process.platform !== 'linux') context.skip('needs /proc')
    const daemon = execution('(setsid stubborn daemon >/dev/null 2>&1 &); wait-for daemon')
    expect(await hasty.run(daemon.request).ended).toMatchObject({ exitCode: 0 })
    await untilDead(await daemon.pidOf('daemon'))
  })

  it('does not delay the end', async () => {
    const left = execution('stubborn left >/dev/null 2>&1 & wait-for left')
    await patient.run(left.request).ended
    expect(isAlive(await left.pidOf('left'))).toBe(true)
  })

  it('is told apart from another attempt of the same run', async (context) => {
    if (process.platform !== 'linux') context.skip('needs /proc')
    const runId = 'run_of_two_attempts'
    const first = execution('setsid stubborn away & wait', { runId })
    const second = execution('setsid sleeper away & wait', { runId })
    const [one, other] = [hasty.run(first.request), hasty.run(second.request)]
    const [old, present] = [await first.pidOf('away'), await second.pidOf('away')]
    one.stop()
    await one.ended
    await untilDead(old)
    expect(isAlive(present)).toBe(true)
    other.stop()
    await other.ended
  })
})

describe('the lease', () => {
  it('kills the command at once when it is not renewed', async () => {
    const late = execution('stubborn child & exec stubborn own')
    const running = patient.run(late.request)
    const pids = await Promise.all(['own', 'child'].map((name) => late.pidOf(name)))
    running.renew(100)
    expect(await running.ended).toMatchObject({
      signal: 'SIGKILL',
      failure: 'lease_ended',
      failureText: expect.stringContaining('lease'),
    })
    await Promise.all(pids.map(untilDead))
    // Too late, and without effect.
    running.renew(1000)
    running.stop()
  })

  it('lets the command go on when it is renewed', async () => {
    const leaseMs = 1000
    const renewed = execution('wait-for go; echo done', { leaseMs })
    const running = patient.run(renewed.request)
    running.renew(60_000)
    const forgotten = patient.run(execution('exec sleep 60', { leaseMs }).request)
    expect(await forgotten.ended).toMatchObject({ failure: 'lease_ended' })
    renewed.go('go')
    expect(await running.ended).toMatchObject({ exitCode: 0, output: 'done\n', failure: null })
  })
})

describe('close', () => {
  it('kills what is left, ends the guard and starts nothing more', async () => {
    const commands = openCommands()
    const left = execution('exec stubborn own')
    const running = commands.run(left.request)
    const pid = await left.pidOf('own')
    await commands.close()
    expect(isAlive(pid)).toBe(false)
    expect(await running.ended).toMatchObject({ signal: 'SIGKILL' })
    expect(await commands.run(left.request).ended).toMatchObject({ failure: 'not_started' })
  })

  it('needs no guard if there was no command', async () => {
    await expect(openCommands().close()).resolves.toBeUndefined()
  })
})
