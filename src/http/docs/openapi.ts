/**
 * The OpenAPI document. It is made from the routes and their schemas. This file adds what all
 * operations share: problems, security, and the idempotency key of a POST.
 */
import swagger from '@fastify/swagger'
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { conflictCodes, conflictText, problem, type ConflictCode } from '../../contract.ts'
import type { HttpDeps } from '../deps.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The codes of its 409 answers. */
    conflicts?: readonly ConflictCode[]
    /** By status: what an answer means, if the general meaning says too little. */
    answers?: Readonly<Record<number, string>>
    /** Statuses of refusals that its schema does not show. `answers` says what they mean. */
    refusals?: readonly number[]
  }
}

/**
 * These carry facts from a route to the document that a schema cannot say. They are then removed.
 */
const optionalBody = 'x-optional-body'
const ownMeanings = 'x-own-meanings'

type Json = Record<string, unknown>

const meanings: Readonly<Record<string, string>> = {
  200: 'Done.',
  201: 'Done; something new was made.',
  204: 'Done; the answer has no body.',
  400: 'The request is malformed: a field is missing, unknown or has the wrong type.',
  401: 'The token is missing or wrong.',
  403: 'The scope or the limits of the token are insufficient.',
  404: 'It does not exist.',
  413: 'The body is larger than 1 MiB.',
  415: 'The body is not `application/json`.',
  422: 'A value is invalid; `errors` names the field.',
  503: 'The store does not answer. Try again after `Retry-After` seconds.',
}

/** Adds the possible problems to a route before it is registered. */
export function describeProblems(route: RouteOptions): void {
  const { schema, config } = route
  if (schema === undefined || schema.hide === true) return
  const open = config?.access === 'public'
  const statuses = [
    ...(open ? (config.refusals ?? []) : [400, 401, 403]),
    ...(schema.params === undefined ? [] : [404]),
    ...(config?.conflicts === undefined ? [] : [409]),
    ...(schema.body === undefined ? [] : [413, 415]),
    ...(schema.body === undefined && schema.querystring === undefined ? [] : [422]),
    503,
  ]
  const problems = statuses.map((status) => [
    status,
    {
      description: status === 409 ? conflictText(config?.conflicts ?? []) : meanings[status],
      content: { 'application/problem+json': { schema: problem } },
    },
  ])
  schema.response = { ...(schema.response as object), ...Object.fromEntries(problems) }
  if (open) schema.security = []
  Object.assign(schema, {
    [ownMeanings]: config?.answers,
    'x-scopes': open ? undefined : ['admin', ...scopesOf(config?.access)],
    'x-conflicts': config?.conflicts?.map((code) => ({ code, meaning: conflictCodes[code] })),
  })
  const { body } = schema
  if (body instanceof z.ZodType && body.safeParse(undefined).success) {
    Object.assign(schema, { [optionalBody]: true })
  }
}

function scopesOf(access: FastifyContextConfig['access']): readonly string[] {
  return access === undefined || access === 'public' ? [] : access.scopes
}

export function serveOpenApi(server: FastifyInstance, { version, sandbox }: HttpDeps): void {
  void server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Holdfast',
        version,
        description:
          'Claim the work on a pull request or a job exactly once, hold it with a lease, let ' +
          'newer heads supersede it, finish it, and read what happened.' +
          (sandbox ? '\n\nThis server is a sandbox: nothing is published to GitHub.' : ''),
      },
      tags: [
        { name: 'Runs', description: 'Claim work, list it, cancel it or rerun it.' },
        { name: 'Work', description: 'For workers: lease a run, keep the lease, finish the run.' },
        { name: 'Deliveries', description: 'What is shown on GitHub, and what waits to be sent.' },
        { name: 'Webhooks', description: 'What GitHub sent, and what it led to.' },
        { name: 'Audit', description: 'What happened, to what, by whom.' },
        { name: 'Tokens', description: 'Who may do what. Only for the scope `admin`.' },
        { name: 'Server', description: 'Health of the process, and this description.' },
      ],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      security: [{ bearer: [] }],
    },
    transform: jsonSchemaTransform,
    transformObject: (document) =>
      withSharedParts(jsonSchemaTransformObject(document) as unknown as Json) as never,
  })
}

const idempotencyKey = {
  in: 'header',
  name: 'Idempotency-Key',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  description:
    'Makes the request safe to repeat. For 24 hours the same key and body get the first ' +
    'answer; the same key with another body gets 422. 1 to 255 visible characters.',
}

function withSharedParts(document: Json): Json {
  const paths = document['paths'] as Record<string, Record<string, Json>>
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    if (operation[optionalBody] === true) {
      operation[optionalBody] = undefined
      operation['requestBody'] = { ...(operation['requestBody'] as Json), required: false }
    }
    const own = (operation[ownMeanings] ?? {}) as Readonly<Record<string, string>>
    operation[ownMeanings] = undefined
    for (const [status, answer] of Object.entries(operation['responses'] as Record<string, Json>)) {
      answer['description'] = own[status] ?? meanings[status] ?? answer['description']
    }
  }
  for (const { post } of Object.values(paths)) {
    // A key belongs to a token, so a route without tokens has none.
    if (post === undefined || (post['security'] as unknown[] | undefined)?.length === 0) continue
    post['parameters'] = [...((post['parameters'] as Json[] | undefined) ?? []), idempotencyKey]
  }
  return { ...document, components: usedComponents(document) }
}

/** Each named schema exists in a form for requests and one for answers. Unused ones are removed. */
function usedComponents(document: Json): Json {
  const all = document['components'] as Json
  const schemas = all['schemas'] as Json
  const used = new Set<string>()
  const visit = (part: unknown): void => {
    for (const [, name] of JSON.stringify(part).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (name === undefined || used.has(name)) continue
      used.add(name)
      visit(schemas[name])
    }
  }
  visit(document['paths'])
  const kept = Object.entries(schemas).filter(([name]) => used.has(name))
  return { ...all, schemas: Object.fromEntries(kept) }
}
