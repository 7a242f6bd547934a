/**
 * Goal: of a run that waits for a person, `why` says which step is in doubt, since when and until
 * when, who began it, and what can be decided with which command.
 */
import { expect, it } from 'vitest'
import type { StepAction } from '../../../src/domain/step.ts'
import { heldStepMs } from '../../../src/domain/step.ts'
import { stepKey } from '../../../src/ids.ts'
import type { LeaseAnswer } from '../../../src/store.ts'
import { sha } from '../claims.ts'
import { day, minute, useWorld, type OpenStore } from '../world.ts'
import { StoryWorld } from './story-world.ts'

const head = sha('a').slice(0, 7)

export function whySteps(open: OpenStore): void {
  const world = useWorld(open)

  const act = (held: LeaseAnswer, startId: string, action: StepAction) =>
    world().store.steps.act({
      runId: held.run.id,
      leaseHash: held.run.leaseHash ?? '',
      actor: `run:${held.run.id}`,
      name: 'charge',
      startId,
      codeVersion: null,
      action,
    })

  /** Worker w1 began the step and was lost; worker w2 holds the step for a person. */
  async function heldStory(): Promise<{ story: StoryWorld; runId: string; first: LeaseAnswer }> {
    const story = new StoryWorld(world())
    await story.send({ head: 'a' })
    const first = await story.lease('w1')
    await act(first, 'one', { do: 'begin', policy: 'hold' })
    world().clock.move(2 * minute)
    await story.sweep()
    await act(await story.lease('w2'), 'two', { do: 'hold' })
    return { story, runId: first.run.id, first }
  }

  const decide = (runId: string) =>
    world().store.steps.decide(
      { runId, name: 'charge', actor: 'admin', decision: { do: 'repeat' } },
      null,
    )

  it('the headline names the step, who began it, since when and until when it waits', async () => {
    const { story, runId } = await heldStory()
    const time = String.raw`\d\d:\d\d:\d\d UTC`
    const why = await story.why()
    expect(why.headline).toMatch(
      new RegExp(
        `^review of ${story.thread} at ${head} waits for a person's decision since ${time}: it ` +
          `is not known whether step “charge” was done. Worker w1 began it at ${time} under the ` +
          `policy hold, and no result came. If nobody decides by 20\\S+ ${time}, the run fails ` +
          String.raw`\(step_unresolved\)\.`,
      ),
    )
    const what =
      `a person's decision about step “charge” of review of ${head}; without one the run fails ` +
      '(step_unresolved)'
    expect(why.awaiting).toContainEqual({ what, until: world().store.now() + heldStepMs })
    expect(why.actions.slice(0, 3).map(({ command }) => command)).toEqual([
      `holdfast runs step confirm ${runId} charge --result JSON`,
      `holdfast runs step repeat ${runId} charge`,
      `holdfast runs step fail ${runId} charge`,
    ])
    const key = stepKey({ runId, round: 1, name: 'charge' })
    expect(why.actions[0]?.text).toContain(`Its key is ${key}.`)
    expect((await story.why(runId)).headline).toContain("waits for a person's decision")
  })

  it('the story says what became of the step; then nothing is to be decided', async () => {
    const { story, runId } = await heldStory()
    await decide(runId)
    const third = await story.lease('w3')
    await act(third, 'three', { do: 'begin', policy: 'hold' })
    await act(third, 'three', { do: 'record', result: '1' })
    const why = await story.why(runId)
    const texts = why.story.map(({ text, depth }) => `${depth} ${text}`)
    const at = texts.findIndex((text) => text.includes('left no result'))
    expect(texts.slice(at)).toEqual([
      `0 Step “charge” of review of ${head} was begun by an earlier worker and left no result, ` +
        'so it may have been done.',
      `1 Only a person can tell whether step “charge” was done; review of ${head} waits for that.`,
      '0 The admin decided that step “charge” has to be done again; review of ' +
        `${head} waits for the next worker.`,
      `0 Worker w3 took review of ${head} (attempt 2).`,
    ])
    expect(why.text).not.toContain('runs step')
    expect(why.headline).toContain('is being worked on by worker w3')
  })

  it('a late result of whoever began it is told, and the run goes on', async () => {
    const { story, runId, first } = await heldStory()
    await expect(act(first, 'one', { do: 'record', result: '1' })).rejects.toThrow('not held')
    const texts = await story.story(runId)
    expect(texts.at(-1)).toBe(
      `A late result of step “charge” was stored, so it is not repeated; review of ${head} waits ` +
        'for the next worker.',
    )
    expect((await story.why(runId)).headline).toContain('is waiting for a worker')
  })

  it('after a week the run has failed, and says why', async () => {
    const { story, runId } = await heldStory()
    world().clock.move(8 * day)
    await story.sweep()
    const why = await story.why(runId)
    expect(why.headline).toContain(
      'nobody decided about its held step within 7 days (step_unresolved)',
    )
    expect(why.text).not.toContain('runs step')
  })
}
