// Goal: Prometheus can read the alert rules, and they use only metrics that exist.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createPrometheusMetrics } from './prometheus.ts'

const file = readFileSync('docs/operating/alerts.yml', 'utf8')
const page = readFileSync('docs/operating/publishing.md', 'utf8')

type Value = string | Value[] | { [key: string]: Value }
interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}

/** The part of YAML that the file needs: maps and lists by indentation, one-line texts. */
function readYaml(text: string): Value {
  const lines = text.split('\n').filter((line) => !/^\s*(#.*)?$/.test(line))
  let at = 0
  const indentOf = (line: string | undefined) => line?.search(/\S/) ?? -1

  function block(indent: number): Value {
    return lines[at]?.slice(indent).startsWith('- ') === true ? list(indent) : map(indent)
  }
  function list(indent: number): Value[] {
    const items: Value[] = []
    while (indentOf(lines[at]) === indent && lines[at]?.slice(indent).startsWith('- ') === true) {
      lines[at] = lines[at]?.replace('- ', '  ') ?? ''
      items.push(map(indent + 2))
    }
    return items
  }
  function map(indent: number): Value {
    const made: { [key: string]: Value } = {}
    while (indentOf(lines[at]) === indent) {
      const [, key, value] = /^([A-Za-z]+):(?: (.+))?$/.exec(lines[at]?.slice(indent) ?? '') ?? []
      if (key === undefined || key in made) throw new Error(`no line of a map: ${lines[at]}`)
      at += 1
      made[key] = value === undefined ? block(indentOf(lines[at])) : scalar(value)
    }
    return made
  }
  const value = block(0)
  if (at < lines.length) throw new Error(`wrong indentation: ${lines[at]}`)
  return value
}

/** A text without quotes must not look like anything else. */
function scalar(text: string): string {
  if (/^'(?:[^']|'')*'$/.test(text)) return text.slice(1, -1).replaceAll("''", "'")
  if (/: | #|^[&*!|>%@`"'[{-]/.test(text)) throw new Error(`needs quotes: ${text}`)
  return text
}

const { groups } = readYaml(file) as unknown as { groups: { name: string; rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)

test('every rule is complete and has its own name', () => {
  expect(rules.length).toBeGreaterThan(7)
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  for (const rule of rules) {
    expect(rule.alert).toMatch(/^Holdfast[A-Za-z]+$/)
    expect(rule.for ?? '1m').toMatch(/^\d+[smh]$/)
    expect(['info', 'warning', 'critical']).toContain(rule.labels.severity)
    expect(rule.annotations.summary).not.toBe('')
    expect(rule.annotations.description).not.toBe('')
    const brackets = rule.expr.replaceAll(/[^()[\]{}]/g, '')
    expect(balanced(brackets), rule.expr).toBe(true)
  }
})

function balanced(brackets: string): boolean {
  const shorter = brackets.replaceAll(/\(\)|\[\]|\{\}/g, '')
  return shorter === '' || (shorter !== brackets && balanced(shorter))
}

test('every metric in a rule is exposed, with the labels that the rule uses', async () => {
  const metrics = createPrometheusMetrics()
  const text = await metrics.text()
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, is]) => [name, is]),
  )
  for (const { expr } of rules) {
    const named = [...expr.matchAll(/\bholdfast_\w+/g)].map(([name]) => name)
    expect(named.length, expr).toBeGreaterThan(0)
    for (const name of named) {
      const base = name.replace(/_bucket$/, '')
      expect(types.get(base), `${name} is not exposed`).toBe(
        name === base ? (name.endsWith('_total') ? 'counter' : 'gauge') : 'histogram',
      )
    }
  }
})

test('the page describes every alert, and no other', () => {
  const documented = [...page.matchAll(/^\| `(Holdfast\w+)`/gm)].map(([, name]) => name)
  expect(documented).toEqual(rules.map(({ alert }) => alert))
})

test('every metric is documented for dashboards', async () => {
  const text = await createPrometheusMetrics().text()
  const names = [...text.matchAll(/^# TYPE (holdfast_\S+) /gm)].map(([, name]) => name ?? '')
  const listed = [...page.matchAll(/^\| `(holdfast_\w+)/gm)].map(([, name]) => name)
  expect(listed.toSorted()).toEqual(names.toSorted())
})
