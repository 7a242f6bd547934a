/**
 * `why`: what happened to a pull request, a run, a delivery or a webhook, and why. It uses only the
 * audit and the current state, and says so if a part of the audit was removed.
 *
 *   question ──▶ facts (bounded reads) ──▶ headline ─┐
 *                                       ├▶ story ────┼─▶ plain text
 *                                       └▶ what-next ┘
 */
import { channelsByName } from '../channels/github-channels.ts'
import { targetText } from '../domain/outbox/target-text.ts'
import { NotFoundError, runNotFound } from '../errors.ts'
import { sentence } from '../texts/sentences.ts'
import type { Facts, WhyStore } from './why/facts.ts'
import { readDelivery, readRun, readThread, readWebhook } from './why/facts.ts'
import {
  cleanText,
  clockOf,
  dayOf,
  fullRunWords,
  subjectWords,
  textOf,
  timeWords,
} from './why/names.ts'
import { notAQuestion, readQuestion } from './why/question.ts'
import type { Awaited } from './why/delivery-state.ts'
import { deliveryState, shownWords } from './why/delivery-state.ts'
import { runState, threadHeadline, webhookWords } from './why/headline.ts'
import type { StoryEntry } from './why/story.ts'
import { storyOf } from './why/story.ts'
import type { Action } from './why/what-next.ts'
import { actionsForUnknown, actionsOf, awaitedOf } from './why/what-next.ts'

export type { WhyStore } from './why/facts.ts'

export interface Why {
  readonly query: string
  readonly kind: 'pull_request' | 'run' | 'webhook' | 'delivery'
  /** `acme/widgets#5`, or what a job or a webhook is about. */
  readonly subject: string
  /** The current state. */
  readonly headline: string
  /** Cause before effect, oldest first. */
  readonly story: readonly StoryEntry[]
  readonly awaiting: readonly Awaited[]
  readonly actions: readonly Action[]
  /** All of it, for terminals and chats. */
  readonly text: string
}

/** Rejects with InvalidInputError if it is not a question, NotFoundError if nothing is known. */
export async function explain(store: WhyStore, query: string): Promise<Why> {
  const question = readQuestion(query)
  if (question === null) throw notAQuestion()
  switch (question.of) {
    case 'thread':
      return await explainThread(store, query, question)
    case 'run':
      return await explainRun(store, question.id, query)
    case 'webhook':
      return await explainWebhook(store, query, question)
    case 'delivery':
      return await explainDelivery(store, query, question.id)
  }
}

async function explainThread(
  store: WhyStore,
  query: string,
  { repo, number }: { readonly repo: string; readonly number: number },
): Promise<Why> {
  const facts = await readThread(store, repo, number)
  const subject = `${repo}#${number}`
  const headline = threadHeadline(facts, subject)
  if (facts.subjects.length === 0 && facts.webhooks.length === 0) {
    throw new NotFoundError('nothing_known', headline, { hint: hintOf(actionsForUnknown(facts)) })
  }
  return answer(facts, {
    query,
    kind: 'pull_request',
    subject,
    headline,
    actions: actionsOf(facts),
  })
}

/** As one paragraph, each with its command. */
const hintOf = (actions: readonly Action[]): string =>
  actions.map(({ text, command }) => sentence(command ? `${text}: ${command}` : text)).join(' ')

export async function explainRun(store: WhyStore, id: string, query = id): Promise<Why> {
  const facts = await readRun(store, id)
  if (facts === null) throw runNotFound(id)
  const [one] = facts.subjects
  const subject = one?.run == null ? id : subjectWords(one.run)
  const headline =
    one?.run == null
      ? purgedRunHeadline(id, facts)
      : [runState(one, facts), ...shownWords(facts)].map(sentence).join(' ')
  return answer(facts, { query, kind: 'run', subject, headline, actions: actionsOf(facts) })
}

function purgedRunHeadline(id: string, { rows }: Facts): string {
  const purged = rows.findLast(({ type }) => type === 'run.purged')
  const state = purged === undefined ? null : textOf(purged, 'state')
  const was = state === null ? '' : `; it was ${state}`
  return `Run ${id} was removed, because it is past its retention${was}. Its audit is still there.`
}

async function explainWebhook(
  store: WhyStore,
  query: string,
  { id, sure }: { readonly id: string; readonly sure: boolean },
): Promise<Why> {
  const facts = await readWebhook(store, id)
  if (facts === null) {
    if (!sure) throw notAQuestion()
    throw new NotFoundError('inbox_entry_not_found', `there is no webhook ${cleanText(id)}`, {
      hint:
        'It did not arrive, was refused for its signature, or is past its retention. List what ' +
        'arrived: holdfast inbox list. Check whether webhooks are accepted: holdfast doctor.',
    })
  }
  const [entry] = facts.webhooks
  const where =
    entry?.repo == null || entry.number === null ? null : `${entry.repo}#${entry.number}`
  const headline =
    entry === undefined
      ? `Webhook ${id} was removed, because it is past its retention. Its audit is still there.`
      : sentence(webhookWords(entry, facts))
  const subject = where ?? entry?.repo ?? id
  return answer(facts, { query, kind: 'webhook', subject, headline, actions: actionsOf(facts) })
}

async function repositoryOf(store: WhyStore, facts: Facts, id: string): Promise<string> {
  const names = await store.repositories.names([id])
  return names.get(id) ?? facts.runs[0]?.repo ?? 'a repository'
}

async function explainDelivery(store: WhyStore, query: string, id: string): Promise<Why> {
  const facts = await readDelivery(store, id)
  if (facts === null) {
    throw new NotFoundError('delivery_not_found', `there is no delivery ${id}`, {
      hint: 'It may be past its retention. List what there is with "holdfast deliveries".',
    })
  }
  const [delivery] = facts.deliveries
  if (delivery === undefined) {
    const headline = `Delivery ${id} was removed with its run. Its audit is still there.`
    return answer(facts, { query, kind: 'delivery', subject: id, headline, actions: [] })
  }
  const { repositoryId } = delivery
  const repo = repositoryId === null ? null : await repositoryOf(store, facts, repositoryId)
  const subject = cleanText(targetText(delivery, channelsByName.of(delivery.channel), repo))
  const run = facts.runs.find((one) => one.id === delivery.runId)
  const whose = run === undefined ? '' : ` for ${fullRunWords(run)}`
  const headline = `${sentence(deliveryState(delivery, facts))} Its target is ${subject}${whose}.`
  return answer(facts, { query, kind: 'delivery', subject, headline, actions: actionsOf(facts) })
}

type Frame = Pick<Why, 'query' | 'kind' | 'subject' | 'headline' | 'actions'>

function answer(facts: Facts, frame: Frame): Why {
  const why = { ...frame, story: storyOf(facts), awaiting: awaitedOf(facts) }
  return { ...why, text: plainText(why, facts.now) }
}

/** The whole answer as plain text, for terminals and chats. */
function plainText(why: Omit<Why, 'text'>, now: number): string {
  const { headline, story, awaiting, actions } = why
  const parts = [headline]
  if (story.length > 0) parts.push(section('What happened (UTC)', storyLines(why)))
  if (awaiting.length > 0) {
    const lines = awaiting.map(({ what, until }) => `- ${untilWords(until, now)}${sentence(what)}`)
    parts.push(section('Waiting for', lines))
  }
  if (actions.length > 0) {
    const lines = actions.map(({ text, command }) => {
      return command === null ? `- ${sentence(text)}` : `- ${text}:\n    ${command}`
    })
    parts.push(section('What you can do', lines))
  }
  return `${parts.join('\n\n')}\n`
}

/**
 * The day is printed when it changes. An entry that follows from another is indented under it,
 * without a time if the time is the same.
 */
function storyLines({ story }: Pick<Why, 'story'>): string[] {
  return story.flatMap((entry, i) => {
    const before = story[i - 1]
    const line = `${beginning(entry, before)}${entry.text}`
    const isSameDay = before !== undefined && dayOf(before.at) === dayOf(entry.at)
    return isSameDay || entry.type === 'left_out' ? [line] : [dayOf(entry.at), line]
  })
}

function beginning({ at, depth, type }: StoryEntry, before: StoryEntry | undefined): string {
  if (type === 'left_out') return '  '
  if (depth === 0) return `  ${clockOf(at)}  `
  const isSame = before !== undefined && clockOf(before.at) === clockOf(at)
  return `  ${isSame ? ' '.repeat(8) : clockOf(at)}    `
}

function untilWords(until: number | null, now: number): string {
  if (until === null) return ''
  const time = timeWords(until, now)
  return until <= now ? `overdue since ${time}: ` : `until ${time}: `
}

const section = (title: string, lines: readonly string[]): string => [title, ...lines].join('\n')
